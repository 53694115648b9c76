function [ap_mat, r1_mat] = draw_confusion_matrix(ap, r1, queryCam)
% draw_confusion_matrix  Mean score for each pair of cameras; draws nothing.
%
%   [ap_mat, r1_mat] = draw_confusion_matrix(ap, r1, queryCam)
%
%   ap        queries x 6, from compute_AP_multiCam
%   r1        queries x 6, from compute_r1_multiCam
%   queryCam  camera of each query, 1 to 6
%
%   ap_mat    6 x 6, row is the query's camera: mean of the scores that are
%             not 0, so that a true score of 0 is left out
%   r1_mat    6 x 6: mean of the scores that are 0 or more
%
%   A pair of cameras without such a score is NaN.

ap_mat = zeros(6, 6);
r1_mat = zeros(6, 6);
ap_count = zeros(6, 6);
r1_count = zeros(6, 6);

for n = 1:length(queryCam)
    row = queryCam(n);
    for col = 1:6
        if ap(n, col) ~= 0
            ap_mat(row, col) = ap_mat(row, col) + ap(n, col);
            ap_count(row, col) = ap_count(row, col) + 1;
        end
        if r1(n, col) >= 0
            r1_mat(row, col) = r1_mat(row, col) + r1(n, col);
            r1_count(row, col) = r1_count(row, col) + 1;
        end
    end
end

ap_mat = ap_mat ./ ap_count;
r1_mat = r1_mat ./ r1_count;
end
