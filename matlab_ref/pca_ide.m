function [u, m] = pca_ide(X)
% pca_ide  Components of the training images, as the IDE driver takes them.
%
%   [u, m] = pca_ide(X)
%
%   X   d x n: one column an image
%   u   d x n: the component of largest variance first
%   m   mean image; any features go into the components as u' * (Y - m)
%
% Not principal components: the n x n matrix of covariances between the
% images is taken, for which the mean of every image over its d numbers is
% taken off as well; and the columns of u are neither orthogonal nor of
% unit length. Columns after the rank of that matrix mean nothing.

m = mean(X, 2);
X = X - m;
rows = X - mean(X, 1);
[V, D] = eig(rows' * rows / size(X, 1));
[~, order] = sort(diag(D), 'descend');
u = X * V(:, order);
end
