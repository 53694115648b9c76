function dist = my_pdist2(A, B)
% my_pdist2  Euclidean distances, as the drivers define them.
%
%   dist = my_pdist2(A, B)
%
%   A     gallery x d: one row an image
%   B     queries x d
%
%   dist  gallery x queries. The squares are multiplied out and not held at 0
%         or above: where rounding makes one negative, its root is imaginary
%         and dist is complex.

aa = sum(A.^2, 2);
bb = sum(B.^2, 2);
square = bsxfun(@plus, aa, bb') - 2 * (A * B');
dist = sqrt(square);
end
