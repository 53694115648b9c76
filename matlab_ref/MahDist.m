function dist = MahDist(M, Xg, Xp)
% MahDist  Mahalanobis distances, without a root.
%
%   dist = MahDist(M, Xg, Xp)
%
%   M     d x d, or a scalar: 1 gives squared Euclidean distances
%   Xg    gallery x d: one row an image
%   Xp    probes x d
%
%   dist  gallery x probes: (x - y) M (x - y)' multiplied out, so that rounding
%         can make a small one negative

u = sum((Xg * M) .* Xg, 2);
v = sum((Xp * M) .* Xp, 2);
dist = bsxfun(@plus, u, v') - 2 * Xg * M * Xp';
end
