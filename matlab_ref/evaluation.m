function [CMC, map, r1_pairwise, ap_pairwise] = evaluation( ...
        dist, label_gallery, label_query, cam_gallery, cam_query)
% evaluation  CMC and mAP of a Market-1501 style test.
%
%   [CMC, map, r1_pairwise, ap_pairwise] = evaluation( ...
%       dist, label_gallery, label_query, cam_gallery, cam_query)
%
%   dist           gallery x query; smaller is nearer
%   label_gallery  column: person of each gallery image, -1 is junk
%   label_query    person of each query
%   cam_gallery    camera of each gallery image
%   cam_query      camera of each query
%
%   CMC            row: mean match curve over all queries
%   map            mean average precision; a query without a good image
%                  counts as 0
%   r1_pairwise    queries x 6, all 0: kept for the shape of the answer
%   ap_pairwise    the same

n_query = size(dist, 2);
n_gallery = size(dist, 1);
CMC = zeros(1, n_gallery);
ap = zeros(n_query, 1);
r1_pairwise = zeros(n_query, 6);
ap_pairwise = zeros(n_query, 6);

junk0 = find(label_gallery == -1);

for k = 1:n_query
    % nearest first; equal distances stay in gallery order
    [~, index] = sort(dist(:, k));

    % the same person: good on another camera, junk on the query's own
    pos = find(label_gallery == label_query(k));
    same_cam = cam_gallery(pos) == cam_query(k);
    good_image = pos(~same_cam);
    junk = pos(same_cam);

    [ap(k), cmc] = compute_AP(good_image, [junk0; junk], index);
    CMC = CMC + cmc';
end

CMC = CMC / n_query;
ap(isnan(ap)) = 0;
map = sum(ap) / n_query;
end
