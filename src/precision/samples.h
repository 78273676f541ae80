// Samples: inputs for calibrating and judging a model: the user's files (sample_files.h), or seeded synthetic values.
// Two disjoint parts, so that a model is not judged on its calibration data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/graph.h"
#include "precision/image.h"
#include "precision/sample_files.h"

namespace ridge::precision {

struct SampleOptions {
  std::string path;         // file or folder; empty: synthetic
  ImageOptions images;      // how pictures become inputs
  size_t calibration = 64;  // samples at most; TensorRT's and ONNX Runtime's examples calibrate with tens to hundreds
  size_t held_out = 100;    // upper limit: with fewer, one differing row is already more than 1 %
  size_t most_bytes = size_t{512} << 20;  // of all samples together; larger samples mean fewer of them
  uint64_t seed = 1;                      // of synthetic values, of the choice among many, of the split
};

struct Samples {
  std::vector<Sample> calibration, held_out;
  std::string origin;  // "synthetic, seed 1", "164 pictures of DIR"
  bool synthetic = false;
  bool shared = false;             // only one sample: both parts are it
  std::vector<std::string> notes;  // full sentences for the report
};

// `shapes`: of one run at batch 1, as in plan::Plan. `graph` gives the valid integer inputs; may be null. Errors: as
// read_sample_files(); an incomplete shape.
Result<Samples> gather_samples(const engine::Signature& signature, const std::map<std::string, Shape>& shapes,
                               const model::Graph* graph, const SampleOptions& options);

// "the deviation was measured on …": shown beside every deviation in a report. `judged`: the number of held-out ones
// for which there was time.
std::string provenance(const Samples& samples, size_t judged);

std::vector<TensorView> views_of(const Sample& sample);

}  // namespace ridge::precision
