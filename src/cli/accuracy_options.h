// Options of `ridge tune` about accuracy: calibration data, evaluation data, allowed loss. Errors: wrong usage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "precision/evaluation.h"
#include "precision/guard.h"
#include "precision/samples.h"

namespace CLI {
class App;
}

namespace ridge::cli {

// The options as typed.
struct AccuracyOptions {
  std::string calibration;  // file or folder; empty: synthetic
  int samples = 64, held_out = 100;
  uint64_t seed = 1;
  std::string image_size, image_mean, image_std, image_layout, image_fit = "crop";
  std::optional<double> max_deviation, min_cosine, min_top1;
  std::string eval;
  std::optional<double> eval_min, eval_drop;
  double eval_seconds = 600;
};

void declare_accuracy(CLI::App& app, AccuracyOptions& options);

Result<precision::SampleOptions> sample_options(const AccuracyOptions& options);
Result<precision::GuardLimits> guard_limits(const AccuracyOptions& options);
// nullopt without --eval.
Result<std::optional<precision::EvaluationOptions>> evaluation_options(const AccuracyOptions& options);

}  // namespace ridge::cli
