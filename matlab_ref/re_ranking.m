function final_dist = re_ranking(feat, M, W, query_num, k1, k2, lambda)
% re_ranking  Distances after k-reciprocal encoding.
%
%   final_dist = re_ranking(feat, M, W, query_num, k1, k2, lambda)
%
%   feat        d x n: one column an image, the queries first
%   M           metric for MahDist, p x p, or 1
%   W           projection, d x p, or 1
%   query_num   number of queries
%   k1          neighbours that may be reciprocal
%   k2          neighbours whose encodings are averaged; 1 averages nothing
%   lambda      share of the original distance, 0 to 1
%
%   final_dist  single, gallery x query
%
%   Z. Zhong, L. Zheng, D. Cao, S. Li: Re-ranking person re-identification
%   with k-reciprocal encoding, CVPR 2017.

% every image ranks every image, by the distance as it is
X = feat' * W;
original_dist = MahDist(M, X, X);
n = size(original_dist, 1);
[~, initial_rank] = sort(original_dist, 2);

% only then is each row scaled: its farthest image gets 1
farthest = max(original_dist, [], 2);
original_dist = bsxfun(@rdivide, original_dist, farthest);

% encode each image by its reciprocal neighbours and those that they bring
half = round((k1 + 1) / 2);
V = zeros(n, n, 'single');
for i = 1:n
    reciprocal = k_reciprocal(initial_rank, i, k1 + 1);
    expansion = reciprocal;
    for j = 1:length(reciprocal)
        brought = k_reciprocal(initial_rank, reciprocal(j), half);
        known = ismember(brought, reciprocal);
        if sum(known) > 2 / 3 * length(brought)
            expansion = [expansion, brought];
        end
    end
    expansion = unique(expansion);
    weight = exp(-original_dist(i, expansion));
    V(i, expansion) = weight / sum(weight);
end

% local query expansion
if k2 ~= 1
    V_qe = zeros(n, n, 'single');
    for i = 1:n
        nearest = V(initial_rank(i, 1:k2), :);
        V_qe(i, :) = sum(nearest, 1) / k2;
    end
    V = V_qe;
end

% Jaccard distance of two encodings, each of which sums to 1
jaccard_dist = zeros(query_num, n, 'single');
for i = 1:query_num
    used = V(i, :) ~= 0;
    shared = sum(bsxfun(@min, V(i, used), V(:, used)), 2);
    jaccard_dist(i, :) = 1 - shared ./ (2 - shared);
end

original_dist = original_dist(1:query_num, :);
final_dist = jaccard_dist * (1 - lambda) + original_dist * lambda;
final_dist = final_dist(:, query_num + 1:n)';
end

function neighbours = k_reciprocal(initial_rank, i, k)
% The first k of image i that have i among their own first k.

forward = initial_rank(i, 1:k);
backward = initial_rank(forward, 1:k);
neighbours = forward(any(backward == i, 2));
end
