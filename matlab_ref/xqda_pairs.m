function [first, second] = xqda_pairs(label, cam, order)
% xqda_pairs  Training pairs for XQDA, by the drivers' rule.
%
%   [first, second] = xqda_pairs(label, cam, order)
%
%   label, cam     columns: person and camera of each training image
%   order          a permutation of the images, e.g. randperm(n): the only
%                  random choice
%
%   first, second  the two images of each pair, persons ascending
%
% The images of a person, in the given order, are cut into two halves; the
% first of one half goes with the first of the other, and so on. An odd
% image is left over. Pairs of one camera are dropped.

first = [];
second = [];
order = order(:);
for person = unique(label)'
    images = order(label(order) == person);
    half = floor(length(images) / 2);
    a = images(1:half);
    b = images(half + 1:2 * half);
    apart = cam(a) ~= cam(b);
    first = [first; a(apart)];
    second = [second; b(apart)];
end
end
