function [M_kissme, M_mahal] = kissme_metric(X, idxa, idxb, flag)
% kissme_metric  KISSME, and the Mahalanobis metric of the similar pairs.
%
%   [M_kissme, M_mahal] = kissme_metric(X, idxa, idxb, flag)
%
%   X           d x n: one column an image
%   idxa, idxb  the two images of each pair
%   flag        1: the same person, 0: another
%
%   M_kissme    d x d, positive definite
%   M_mahal     inverse covariance of the differences of similar pairs
%
% M. Koestinger, M. Hirzer, P. Wohlhart, P. M. Roth, H. Bischof: Large
% scale metric learning from equivalence constraints, CVPR 2012, equations
% 12 to 16. The paper then clips the spectrum of M, without saying at what;
% in the published code, a matrix that is not positive definite gets 1e-6
% for every eigenvalue up to 1e-10.

flag = logical(flag);
M_mahal = inv(covariance(X, idxa(flag), idxb(flag)));
M_kissme = M_mahal - inv(covariance(X, idxa(~flag), idxb(~flag)));
M_kissme = (M_kissme + M_kissme') / 2;

[~, not_definite] = chol(M_kissme);
if not_definite
    [V, D] = eig(M_kissme);
    values = diag(D);
    values(values <= 1e-10) = 1e-6;
    M_kissme = V * diag(values) * V';
end
end

function C = covariance(X, a, b)
difference = X(:, a) - X(:, b);
C = difference * difference' / length(a);
end
