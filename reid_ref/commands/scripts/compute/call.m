% Runs the function named `script` on the variables of `given.mat` in the current folder, which is
% private, and leaves `answer` or `problem` there. A script may change the folder. Without a
% terminal, Octave's own `keyboard` asks for ever. An Octave that is ended would leave its
% variables in the folder where it is.
crash_dumps_octave_core(false);
sighup_dumps_octave_core(false);
sigterm_dumps_octave_core(false);
function keyboard(varargin)
  error('keyboard: expected a terminal, there is none');
end
here = pwd();
try
  addpath(getenv('REID_REF_SCRIPTS'));
  load('given.mat');
  if is_complex
    dist = complex(dist);
  end
  [CMC, map] = feval(script, dist, label_gallery, label_query, cam_gallery, cam_query);
  numbers = isnumeric(CMC) && isreal(CMC) && isnumeric(map) && isreal(map);
  if ~numbers || numel(CMC) ~= n_gallery || numel(map) ~= 1
    error('expected %d real numbers as CMC and one as map, got %s %s and %s %s', n_gallery, ...
          mat2str(size(CMC)), class(CMC), mat2str(size(map)), class(map));
  end
  file = fopen(fullfile(here, 'answer'), 'w');
  fwrite(file, [double(full(CMC(:))); double(full(map))], 'double');
catch problem
  file = fopen(fullfile(here, 'problem'), 'w');
  fputs(file, problem.message);
end
