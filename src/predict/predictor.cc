#include "predict/predictor.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "predict/nonnegative.h"

namespace ridge::predict {
namespace {

constexpr double kLeastUs = 0.2;   // of a kernel, after subtracting the profile's own cost
constexpr double kPull = 1e-3;     // towards the prior, in units of one observation that has only this term
constexpr double kOutlier = 0.15;  // relative error above which an observation weighs less (Huber's weights)
constexpr int kReweightings = 4;
constexpr double kNear = 0.4;          // distance in logarithms within which kernels have similar errors
constexpr double kDoubt = 0.5;         // neighbours at full weight that imply no correction
constexpr double kUnknownError = 0.5;  // of operators without timing. Assumed
constexpr double kLeastError = 0.02;

// "compute" has its minimum time as prior; all else has none.
double prior_of(const std::string& term) {
  return term == "compute" || term == "near" || term == "far" || term == "memory" ? 1 : 0;
}

double amount(const KernelWork& work, const std::string& term) {
  for (const KernelWork::Term& candidate : work.terms)
    if (candidate.name == term) return candidate.us;
  return 0;
}

double weighted(const std::vector<double>& coefficients, const std::vector<double>& terms) {
  double sum = 0;
  for (size_t i = 0; i < terms.size(); ++i) sum += coefficients[i] * terms[i];
  return sum;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Least squares of relative errors, iterated with less weight for outliers.
std::vector<double> robust_fit(std::vector<Observation> observations, const std::vector<double>& prior) {
  const std::vector<double> pull(prior.size(), kPull);
  for (Observation& o : observations) o.weight = 1 / (o.value * o.value);
  std::vector<double> coefficients = nonnegative_fit(observations, prior, pull);
  for (int i = 0; i < kReweightings; ++i) {
    for (Observation& o : observations) {
      const double error = std::abs(weighted(coefficients, o.terms) / o.value - 1);
      o.weight = std::min(1.0, kOutlier / std::max(error, 1e-9)) / (o.value * o.value);
    }
    coefficients = nonnegative_fit(observations, prior, pull);
  }
  return coefficients;
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return 1e9;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

bool goes_over_elements(const KernelWork& work) {
  return std::any_of(work.terms.begin(), work.terms.end(), [](const auto& term) { return term.name == "elements"; });
}

}  // namespace

Predictor::Predictor(const Calibration& calibration, const KernelDevice& device) : device_(device) {
  std::vector<double> views;
  for (const TimedKernel& timed : calibration.kernels)
    if (is_view(timed.kernel)) views.push_back(timed.us);
  profile_us_ = quantile(views, 0.25);
  std::vector<Example> examples;
  for (const TimedKernel& timed : calibration.kernels) {
    const CalibrationSample& sample = calibration.samples[static_cast<size_t>(timed.sample)];
    examples.push_back({work_of(timed.kernel, device_, sample.footprint_bytes),
                        std::max(timed.us - profile_us_, kLeastUs), timed.sample});
  }
  learn(examples);
  find_overheads(calibration);
}

Predictor::Fit Predictor::fit(const std::vector<const Example*>& examples, bool elementwise) {
  std::set<std::string> names;
  for (const Example* example : examples)
    for (const KernelWork::Term& term : example->work.terms) names.emplace(term.name);
  Fit fit;
  fit.terms.emplace_back("constant");
  fit.terms.insert(fit.terms.end(), names.begin(), names.end());
  std::vector<double> prior;
  for (const std::string& term : fit.terms) prior.push_back(prior_of(term));
  std::vector<Observation> observations;
  for (const Example* example : examples) {
    Observation observation{{1}, example->us, 1};
    for (size_t i = 1; i < fit.terms.size(); ++i) observation.terms.push_back(amount(example->work, fit.terms[i]));
    observations.push_back(std::move(observation));
  }
  fit.coefficients = robust_fit(observations, prior);
  std::vector<double> errors;
  for (size_t i = 0; i < observations.size(); ++i) {
    const double fitted = std::max(weighted(fit.coefficients, observations[i].terms), kLeastUs);
    const double residual = std::log(observations[i].value / fitted);
    errors.push_back(std::abs(residual));
    if (!elementwise) fit.neighbours.push_back({examples[i]->work.place, residual});
  }
  // The quantile that holds one standard deviation, widened for the fitted coefficients.
  const double n = static_cast<double>(errors.size()), spent = static_cast<double>(fit.terms.size()) / 2;
  fit.error = std::max(quantile(errors, 0.68) * std::sqrt((n + spent) / n), kLeastError);
  return fit;
}

void Predictor::learn(const std::vector<Example>& examples) {
  std::map<std::string, std::vector<const Example*>> by_kind;
  std::vector<const Example*> over_elements;
  for (const Example& example : examples) {
    by_kind[example.work.kind].push_back(&example);
    if (goes_over_elements(example.work)) over_elements.push_back(&example);
  }
  for (const auto& [kind, of_kind] : by_kind) fits_[kind] = fit(of_kind, false);
  if (over_elements.empty()) return;
  general_ = fit(over_elements, true);
  general_.error = kUnknownError;
}

double Predictor::raw_us(const Fit& fit, const KernelWork& work) {
  if (fit.coefficients.empty()) {  // nothing was timed at all: as fast as the hardware allows
    double us = 0;
    for (const KernelWork::Term& term : work.terms) us += prior_of(std::string(term.name)) * term.us;
    return us;
  }
  double us = fit.coefficients[0];
  for (size_t i = 1; i < fit.terms.size(); ++i) us += fit.coefficients[i] * amount(work, fit.terms[i]);
  return us;
}

double Predictor::correction(const Fit& fit, const std::vector<double>& place) {
  double weights = kDoubt, sum = 0;
  for (const Neighbour& neighbour : fit.neighbours) {
    const double weight = std::exp(-squared_distance(place, neighbour.place) / (2 * kNear * kNear));
    weights += weight;
    sum += weight * neighbour.residual;
  }
  return std::exp(sum / weights);
}

const Predictor::Fit* Predictor::find(const std::string& kind) const {
  auto found = fits_.find(kind);
  return found == fits_.end() ? nullptr : &found->second;
}

KernelTime Predictor::time_of(const Kernel& kernel, double footprint_bytes) const {
  return time_of(kernel, footprint_bytes, device_);
}

KernelTime Predictor::time_of(const Kernel& kernel, double footprint_bytes, const KernelDevice& device) const {
  const KernelWork work = work_of(kernel, device, footprint_bytes);
  const Fit* fit = find(work.kind);
  if (fit == nullptr)  // scalar work is known by its operations alone
    return {std::max(raw_us(general_, work) + amount(work, "scalar"), kLeastUs), kUnknownError, false};
  return {std::max(raw_us(*fit, work), kLeastUs) * correction(*fit, work.place), fit->error, true};
}

void Predictor::find_overheads(const Calibration& calibration) {
  std::vector<double> kernels_us(calibration.samples.size()), counts(calibration.samples.size());
  for (const TimedKernel& timed : calibration.kernels) {
    kernels_us[static_cast<size_t>(timed.sample)] += std::max(timed.us - profile_us_, kLeastUs);
    counts[static_cast<size_t>(timed.sample)] += 1;
  }
  double numerator = 0, denominator = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double run = calibration.samples[i].run_us;
    if (run <= 0) continue;
    numerator += counts[i] * (run - kernels_us[i]) / (run * run);
    denominator += counts[i] * counts[i] / (run * run);
  }
  dispatch_us_ = denominator > 0 ? std::max(0.0, numerator / denominator) : 0;
}

}  // namespace ridge::predict
