#include "predict/held_out.h"

#include <algorithm>
#include <cmath>

#include "predict/predictor.h"

namespace ridge::predict {
namespace {

constexpr size_t kFolds = 6;
constexpr double kTwoOfThree = 0.68;

// The samples for which `keep` is true, with their kernels.
Calibration part_of(const Calibration& whole, const std::vector<bool>& keep) {
  Calibration part;
  part.threads = whole.threads;
  std::vector<int> moved(whole.samples.size(), -1);
  for (size_t i = 0; i < whole.samples.size(); ++i) {
    if (!keep[i]) continue;
    moved[i] = static_cast<int>(part.samples.size());
    part.samples.push_back(whole.samples[i]);
  }
  for (const TimedKernel& timed : whole.kernels) {
    const int sample = moved[static_cast<size_t>(timed.sample)];
    if (sample >= 0) part.kernels.push_back({timed.kernel, timed.us, sample});
  }
  return part;
}

}  // namespace

HoldOutResult held_out(const Calibration& calibration, const KernelDevice& device) {
  HoldOutResult result;
  result.ratios.assign(calibration.samples.size(), 1);
  for (size_t fold = 0; fold < std::min(kFolds, calibration.samples.size()); ++fold) {
    std::vector<bool> keep(calibration.samples.size(), true);
    for (size_t i = fold; i < keep.size(); i += kFolds) keep[i] = false;
    const Predictor predictor(part_of(calibration, keep), device);
    std::vector<double> predicted(keep.size());
    for (const TimedKernel& timed : calibration.kernels) {
      const size_t i = static_cast<size_t>(timed.sample);
      if (keep[i]) continue;
      predicted[i] +=
          predictor.time_of(timed.kernel, calibration.samples[i].footprint_bytes).us + predictor.dispatch_us();
    }
    for (size_t i = fold; i < keep.size(); i += kFolds)
      if (calibration.samples[i].run_us > 0) result.ratios[i] = predicted[i] / calibration.samples[i].run_us;
  }
  std::vector<double> errors;
  for (double ratio : result.ratios) errors.push_back(std::abs(ratio - 1));
  if (errors.empty()) return result;
  const auto at = static_cast<ptrdiff_t>(kTwoOfThree * static_cast<double>(errors.size() - 1));
  std::nth_element(errors.begin(), errors.begin() + at, errors.end());
  result.error = errors[static_cast<size_t>(at)];
  return result;
}

}  // namespace ridge::predict
