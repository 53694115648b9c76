function [idxa, idxb, flag] = kissme_pairs(label, cam, draws, every)
% kissme_pairs  Training pairs for KISSME, by the drivers' rule.
%
%   [idxa, idxb, flag] = kissme_pairs(label, cam, draws)
%   [idxa, idxb, flag] = kissme_pairs(label, cam, draws, every)
%
%   label, cam  columns: person and camera of each training image
%   draws       m x 2 images, e.g. randi(n, 150000, 2), as many as the
%               drivers draw: the only random choice
%   every       the drivers train on every tenth pair; default 10
%
%   idxa, idxb  the two images of each pair
%   flag        1: the same person, 0: another
%
% All pairs of a person on two cameras, persons ascending; then as many of
% the drawn pairs of two persons on two cameras, in the order drawn.

if nargin < 4
    every = 10;
end

similar = zeros(0, 2);
for person = unique(label)'
    images = find(label == person);
    if length(images) > 1
        % a row: nchoosek of a column fails in Octave 7.3
        similar = [similar; nchoosek(images', 2)];
    end
end
similar = similar(cam(similar(:, 1)) ~= cam(similar(:, 2)), :);

other = label(draws(:, 1)) ~= label(draws(:, 2)) & ...
    cam(draws(:, 1)) ~= cam(draws(:, 2));
dissimilar = draws(other, :);

n = size(similar, 1);
pairs = [similar; dissimilar(1:n, :)];
flag = [ones(n, 1); zeros(n, 1)];
idxa = pairs(1:every:end, 1);
idxb = pairs(1:every:end, 2);
flag = flag(1:every:end);
end
