"""What to save where a benchmark's usual repository has its arrays, by protocol; data, no code.

Names are those of the repositories' own variables. `TOOLBOXES` are recipes of docs/files.md.
"""
_ALL_OF_AGW = """\
**Cross-Modal-Re-ID-baseline (AGW) and its copies**: in `data_manager.py`, `process_gallery_sysu`
draws an image of each identity and camera. `files_rgb.extend(new_files)` in the place of
`files_rgb.append(random.choice(new_files))` takes them all, in the order of their names. Then, in
`test.py` with `--mode all`, after the first `extract_gall_feat`:

```py
np.savez("result.npz", query_features=query_feat_fc, gallery_features=gall_feat_fc,
         query_label=query_label, gallery_label=gall_label, query_cam=query_cam,
         gallery_cam=gall_cam)
```
"""
_REGDB = """\
**Cross-Modal-Re-ID-baseline (AGW) and its copies**: `test.py`, in the loop over the ten trials,
after `extract_gall_feat`; RegDB has no cameras, so each modality gets a number:

```py
np.savez(f"trial{test_trial}.npz", query_features=query_feat_fc, gallery_features=gall_feat_fc,
         query_label=query_label, gallery_label=gall_label, query_cam=np.full(nquery, 1),
         gallery_cam=np.full(ngall, 2))
```
"""
_LLCM = """\
**LLCM (DEEN)**: in `DEEN/data_manager.py`, `process_gallery_llcm` draws an image of each identity
and camera. `files_rgb.extend(new_files)` in the place of
`files_rgb.append(random.choice(new_files))` takes them all, in the order of their
names. Then, in `DEEN/test.py` with `test_mode = [1, 2]`, so that the queries are infrared, after
the first `distmat7 = ...`:

```py
np.savez("result.npz", distances=-distmat7, query_label=query_label, gallery_label=gall_label,
         query_cam=query_cam, gallery_cam=gall_cam)
```
"""
_PRCC = """\
**Simple-CCReID**: `test.py`, in `test_prcc`, after the lines that end in `.numpy()`:

```py
np.savez("result.npz", qf=torch.cat([qsf, qdf]).cpu(), gf=gf.cpu(), g_pids=g_pids,
         q_pids=np.append(qs_pids, qd_pids), q_camids=np.append(qs_camids, qd_camids),
         g_camids=g_camids)
```
"""
_DEEPCHANGE = """\
**Simple-CCReID**: `test.py`, in `test`, after the lines that end in `.numpy()`; its loader hands
over the tracklet as the camera:

```py
np.savez("result.npz", qf=qf.cpu(), gf=gf.cpu(), q_pids=q_pids, g_pids=g_pids, q_camids=q_camids,
         g_camids=g_camids, q_video=q_camids, g_video=g_camids)
```
"""
_IRRA = """\
**IRRA and its copies**: `utils/metrics.py`, in `Evaluator.eval`, after `_compute_embedding`;
captions and images have no cameras, so each gets a number:

```py
np.savez("result.npz", qfeats=qfeats.cpu(), gfeats=gfeats.cpu(), qids=qids.cpu(), gids=gids.cpu(),
         qcams=np.full(len(qids), 1), gcams=np.full(len(gids), 2))
```
"""
_SSAN = """\
**SSAN**: `src/test_during_train.py`, in `test`, after `txt_labels = txt_labels.cpu()`.
`txt_img_index` is what `evaluate_without_matching_image` takes: the number of the image that each
caption describes.

```py
np.savez("result.npz", distances=-similarity_all.t(), query_ids=txt_labels, gallery_ids=img_labels,
         query_cams=np.full(len(txt_labels), 1), gallery_cams=np.full(len(img_labels), 2),
         query_frame=txt_img_index, gallery_frame=np.arange(len(img_labels)))
```
"""
_VEHICLEID = """\
**fast-reid**: `fastreid/evaluation/evaluator.py`, in `inference_on_dataset`, before
`evaluator.evaluate()`. All images of the list are on both sides, whatever the loader drew:

```py
batches = evaluator._predictions
feats, pids, camids = (torch.cat([batch[key] for batch in batches]).cpu().numpy()
                       for key in ("feats", "pids", "camids"))
np.savez("result.npz", qf=feats, gf=feats, q_pids=pids, g_pids=pids, q_camids=camids,
         g_camids=camids)
```
"""
_CARGO = """\
**VDT-AGPReID**, a copy of fast-reid: `fastreid/evaluation/evaluator.py`, in
`inference_on_dataset`, before `evaluator.evaluate()`, with the data set `CARGO`.
Its loader counts cameras from 0, and the protocol from 1, as the file names do:

```py
batches = evaluator._predictions
feats, pids, camids = (torch.cat([batch[key] for batch in batches]).cpu().numpy()
                       for key in ("feats", "pids", "camids"))
np.savez("result.npz", feats=feats, pids=pids, camids=camids + 1, num_query=evaluator._num_query)
```
"""
_AP3D = """\
**AP3D and its copies**: `test-all.py`, in `test`, before
`print("Computing distance matrix")`, where the query tracklets are in the gallery already:

```py
np.savez("result.npz", qf=qf, gf=gf, q_pids=q_pids, g_pids=g_pids, q_camids=q_camids,
         g_camids=g_camids)
```
"""
_MSMT17 = """\
**MSMT17_Evaluation**: `evaluation_PKU.m`, after `nTest = ...`, where both matrices have a column
per image:

```matlab
query_features = query_feature';
gallery_features = gallery_feature';
save('result.mat', 'query_features', 'gallery_features', ...
     'query_ID', 'query_CAM', 'gallery_ID', 'gallery_CAM');
```
"""
_BOXES = """\
The file, and the lines that save it from SeqNet or COAT:
[person search](../person-search.md#the-file).
"""
_LISTS = """\
Ranked lists, as they are submitted: [ranked lists](../ranked_lists.md). Or features, as any
[file](../files.md).
"""
_VERI_TRACKS = """\
As for [veri-776](veri-776.md), with `gallery_track` in the same file: for each gallery image, the
number of the line of `test_track.txt` that names it.
"""
#: Where there is no recipe.
ANY_FILE = """\
Features or distances with labels, from your [toolbox](../files.md#from-your-toolbox) or by the
[names](../files.md#names) of the arrays.
"""
#: Said of protocols whose rows are tracklets.
POOLED = """\
Where your rows are frames, save `query_tracklet` and `gallery_tracklet` with them, and add
`--pool mean`.
"""
#: Protocols of which a row is a tracklet.
TRACKLETS = "mars mars-torchreid duke-video ilids-vid ccvid"
#: Said of splits, for each of which a model is trained.
SPLITS = """\
Save a file for each split, `trial1.npz`, `trial2.npz` and so on; the command averages them.
"""
#: Protocols to what is saved.
RECIPES = {
    "sysu-mm01 sysu-mm01-python": _ALL_OF_AGW, "regdb": _REGDB, "llcm": _LLCM,
    "prcc prcc-single-shot": _PRCC, "deepchange": _DEEPCHANGE,
    "cuhk-pedes icfg-pedes rstpreid": _IRRA,
    "cuhk-pedes-trapezoid icfg-pedes-trapezoid rstpreid-trapezoid": _SSAN,
    "vehicleid vehicleid-draws": _VEHICLEID, "cargo": _CARGO, "mars": _AP3D, "msmt17": _MSMT17,
    "cityflow veri-wild-challenge": _LISTS, "veri-776-tracks": _VERI_TRACKS,
    "cuhk-sysu prw prw-multi-view prw-matlab": _BOXES}
#: Toolbox of docs/files.md to the protocols that are of it or follow it.
TOOLBOXES = {
    "Simple-CCReID": "ltcc ccvid vc-clothes last",
    "TransReID, CLIP-ReID, SOLIDER": "occluded-duke",
    "fast-reid": "veri-wild veri-wild-2019 veri-776 ag-reid ag-reid-v2 p-dukemtmc occluded-reid "
                 "partial-reid partial-ilids",
    "torchreid": "mars-torchreid duke-video ilids-vid viper cuhk01 grid prid2011 ilids "
                 "cuhk03-classic"}
