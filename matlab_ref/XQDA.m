function [W, M] = XQDA(galX, probX, galLabels, probLabels, options)
% XQDA  Cross-view quadratic discriminant analysis.
%
%   [W, M] = XQDA(galX, probX, galLabels, probLabels)
%   [W, M] = XQDA(galX, probX, galLabels, probLabels, options)
%
%   galX, probX            training features of the two views: a row each
%   galLabels, probLabels  person of each row
%   options.lambda         added to the diagonal of the intra-personal
%                          covariance; 0.001 where it is not given
%
%   W                      d x r: features go into the subspace as X * W
%   M                      r x r, symmetric; MahDist(M, Xg * W, Xp * W)
%                          ranks
%
% S. Liao, Y. Hu, X. Zhu, S. Z. Li: Person re-identification by local
% maximal occurrence representation and metric learning, CVPR 2015,
% section 4. Where the published code goes its own way, so does this:
% the directions are the left singular vectors of
% inv(intra) * extra, which is not symmetric, where the paper asks for
% eigenvectors; those of singular values above 1 are kept, one at least;
% M is made from the covariance with lambda in it.

lambda = 0.001;
if nargin > 4 && isfield(options, 'lambda')
    lambda = options.lambda;
end

% more dimensions than samples: a basis of the samples loses nothing
n_gal = size(galX, 1);
n_prob = size(probX, 1);
Q = 1;
if size(galX, 2) > n_gal + n_prob
    [Q, R] = qr([galX; probX]', 0);
    galX = R(:, 1:n_gal)';
    probX = R(:, n_gal + 1:end)';
end

% one column a person: whose sample is it
labels = unique([galLabels(:); probLabels(:)])';
galIs = double(galLabels(:) == labels);
probIs = double(probLabels(:) == labels);

% sums of (x - z) * (x - z)' over the pairs of the two views, without
% making a pair: those of the same person, then all the others
galWeight = galIs * sum(probIs, 1)';
probWeight = probIs * sum(galIs, 1)';
cross = (galIs' * galX)' * (probIs' * probX);
intra = galX' * (galWeight .* galX) + probX' * (probWeight .* probX) - ...
    cross - cross';
cross = sum(galX, 1)' * sum(probX, 1);
extra = n_prob * (galX' * galX) + n_gal * (probX' * probX) - ...
    cross - cross' - intra;

n_intra = sum(galWeight);
n_extra = n_gal * n_prob - n_intra;
intra = intra / n_intra + lambda * eye(size(intra, 1));
extra = extra / n_extra;

% svd sorts: the largest singular value first
[U, S] = svd(intra \ extra);
r = max(1, sum(diag(S) > 1));
U = U(:, 1:r);

W = Q * U;
M = inv(U' * intra * U) - inv(U' * extra * U);
M = (M + M') / 2;
end
