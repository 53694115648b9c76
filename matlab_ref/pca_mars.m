function [u, m] = pca_mars(X)
% pca_mars  Principal components, as the MARS driver takes them.
%
%   [u, m] = pca_mars(X)
%
%   X   d x n: one column an image
%   u   d x d, orthogonal: the component of largest variance first
%   m   mean image; any features go into the components as u' * (Y - m)

m = mean(X, 2);
X = X - m;
[V, D] = eig(X * X' / size(X, 2));
[~, order] = sort(diag(D), 'descend');
u = V(:, order);
end
