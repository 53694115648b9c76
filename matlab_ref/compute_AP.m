function [ap, cmc] = compute_AP(good_image, junk_image, index)
% compute_AP  Average precision and match curve of one query.
%
%   [ap, cmc] = compute_AP(good_image, junk_image, index)
%
%   good_image  gallery numbers of the right answers
%   junk_image  gallery numbers that are passed over
%   index       gallery numbers, nearest first
%
%   ap          area under the precision-recall curve, by trapezoids; the
%               curve has a corner at every kept image, not only at a hit
%   cmc         column as long as index: 1 from the rank of the first hit on
%
%   Junk met on the way does not count towards a rank. Without a good image
%   ap is 0/0, NaN, unless all of index is junk: then it stays 0. An image
%   that is good and junk at once is seen by cmc and not by ap.

ngood = length(good_image);
cmc = zeros(length(index), 1);
is_good = ismember(index, good_image);
is_junk = ismember(index, junk_image);

ap = 0;
old_recall = 0;
old_precision = 1;
intersect_size = 0;
good_now = 0;
njunk = 0;
j = 0;

for n = 1:length(index)

    % a hit, also when it is junk as well
    if is_good(n)
        good_now = good_now + 1;
        cmc(n - njunk:end) = 1;
    end

    if is_junk(n)
        njunk = njunk + 1;
    else
        % one more corner of the curve
        intersect_size = intersect_size + is_good(n);
        recall = intersect_size / ngood;
        precision = intersect_size / (j + 1);
        height = (old_precision + precision) / 2;
        ap = ap + (recall - old_recall) * height;

        old_recall = recall;
        old_precision = precision;
        j = j + 1;

        if good_now == ngood
            break
        end
    end
end
end
