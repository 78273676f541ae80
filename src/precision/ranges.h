// Ranges of a model's activations, which static quantisation must represent. The FP32 model runs with its activations
// as outputs, sample by sample; only a histogram of each is kept, so memory does not grow with the samples.
//
//   min-max      every observed value fits; one outlier costs all others resolution
//   percentile   the values between the two quantiles that leave `percentile` inside, equal shares out on each side
//   entropy      the threshold t whose 128 levels lose least information (Kullback-Leibler) against the values'
//                distribution. Source: S. Migacz, "8-bit Inference with TensorRT", GTC 2017 (S7310),
//                slides "Entropy Calibration - pseudocode": 2048 bins of absolute values, thresholds from bin 128 on
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/reader.h"
#include "plan/plan.h"
#include "precision/calibration.h"
#include "precision/histogram.h"
#include "precision/sample_files.h"

namespace ridge::precision {

enum class RangeMethod { kMinMax, kPercentile, kEntropy };

struct RangeOptions {
  RangeMethod method = RangeMethod::kMinMax;
  double percentile = 99.99;  // of the values inside
};
std::string describe(const RangeOptions& options);  // "min-max", "percentile 99.99", "entropy"

// The range of a distribution; nullopt if it is empty.
std::optional<TensorRange> range_of(const Histogram& histogram, const RangeOptions& options);

// Index m: bins 0 … m − 1 of `magnitudes` are kept, everything beyond is clipped; `levels` ≤ m ≤ the number of bins.
size_t entropy_threshold(std::span<const double> magnitudes, size_t levels = 128);

// The observed values of a model's activations: enough for the ranges of every method.
struct Activations {
  std::map<std::string, Histogram> tensors;
  size_t samples = 0;              // samples run
  std::vector<std::string> notes;  // e.g. values that are not finite, and where
};

struct ObserveOptions {
  double seconds = 0;                 // no further sample after this time; 0 = no limit
  std::string folder;                 // for the model with exposed activations; empty: the system's temporary one
  std::function<bool()> interrupted;  // polled between samples; may be empty
  std::function<void(double share)> progress;  // may be empty
  const Clock* clock = &system_clock();
};

// Runs `model` (FP32, takes `inputs`) as `plan` says on the samples with `tensors` exposed
// (precision::calibration_tensors). Errors: a model that cannot be exposed, opened or run; kCancelled.
Result<Activations> observe(const model::WholeModel& model, const plan::Plan& plan,
                            const std::vector<TensorSpec>& inputs, const std::vector<std::string>& tensors,
                            std::span<const Sample> samples, const ObserveOptions& options = {});

// Ranges of the tensors with any finite value.
TensorRanges ranges_of(const Activations& activations, const RangeOptions& options);

}  // namespace ridge::precision
