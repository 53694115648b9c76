function ap_multi = compute_AP_multiCam( ...
        good_image, junk_image, index, queryCam, testCam)
% compute_AP_multiCam  Average precision of one query on each of 6 cameras.
%
%   ap_multi = compute_AP_multiCam(good_image, junk_image, index, ...
%                                  queryCam, testCam)
%
%   good_image  column: same person as the query, on other cameras
%   junk_image  column: same person, on the query's own camera
%   index       gallery numbers, nearest first; index(1) is taken to be the
%               query itself
%   queryCam    camera of the query, 1 to 6
%   testCam     camera of every gallery image, 1 to 6
%
%   ap_multi    1 x 6; 0 where there was nothing to find or not all of it
%               was found

good_cam = testCam(good_image);
ap_multi = zeros(1, 6);

% own camera: the other images of the person there, without the query
good_here = setdiff(junk_image, index(1));
ngood = length(junk_image) - 1;
ignored = [good_image; index(1)];
[ap, complete] = one_camera(good_here, ignored, index, ngood);
if complete
    ap_multi(queryCam) = ap;
end

% each other camera: the person's images on the remaining ones are ignored
cams = unique(good_cam);
for k = 1:length(cams)
    on_cam = good_cam == cams(k);
    good_here = good_image(on_cam);
    ngood = length(good_here);
    ignored = [junk_image; good_image(~on_cam)];
    [ap, complete] = one_camera(good_here, ignored, index, ngood);
    if complete
        ap_multi(cams(k)) = ap;
    end
end
end

function [ap, complete] = one_camera(good_here, ignored, index, ngood)
% The trapezoids of compute_AP without a match curve. complete tells whether
% the walk ended because everything was found; ngood may be 0 (ap is then 0
% at the first kept image) or -1 (it then never ends early).

is_good = ismember(index, good_here);
is_ignored = ismember(index, ignored);

ap = 0;
complete = false;
old_recall = 0;
old_precision = 1;
intersect_size = 0;
good_now = 0;
j = 0;

for n = 1:length(index)
    good_now = good_now + is_good(n);
    if is_ignored(n)
        continue
    end
    if ngood == 0
        complete = true;
        return
    end

    intersect_size = intersect_size + is_good(n);
    recall = intersect_size / ngood;
    precision = intersect_size / (j + 1);
    height = (old_precision + precision) / 2;
    ap = ap + (recall - old_recall) * height;

    old_recall = recall;
    old_precision = precision;
    j = j + 1;

    if good_now == ngood
        complete = true;
        return
    end
end
end
