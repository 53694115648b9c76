function r1 = compute_r1_multiCam( ...
        good_image, junk_image, index, queryCam, testCam)
% compute_r1_multiCam  Was the first kept image right, on each of 6 cameras?
%
%   r1 = compute_r1_multiCam(good_image, junk_image, index, ...
%                            queryCam, testCam)
%
%   The arguments are those of compute_AP_multiCam.
%
%   r1  1 x 6: 1 for right and 0 for wrong; -2 where the camera has no good
%       image or everything was ignored; -1 on the query's own camera when
%       the query is the only image of the person there

good_cam = testCam(good_image);
r1 = -2 * ones(1, 6);

% own camera
ngood = length(junk_image) - 1;
if ngood == 0
    r1(queryCam) = -1;
else
    good_here = setdiff(junk_image, index(1));
    ignored = [good_image; index(1)];
    [found, right] = first_kept(good_here, ignored, index);
    if found
        r1(queryCam) = right;
    end
end

% each other camera
cams = unique(good_cam);
for k = 1:length(cams)
    on_cam = good_cam == cams(k);
    ignored = [junk_image; good_image(~on_cam)];
    [found, right] = first_kept(good_image(on_cam), ignored, index);
    if found
        r1(cams(k)) = right;
    end
end
end

function [found, right] = first_kept(good_here, ignored, index)
% Is there an image that is not ignored, and is the first such a good one?

kept = index(~ismember(index, ignored));
found = ~isempty(kept);
right = found && ismember(kept(1), good_here);
end
