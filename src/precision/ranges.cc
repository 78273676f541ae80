#include "precision/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/element.h"
#include "base/replacement_file.h"
#include "base/temporary_folder.h"
#include "engine/engine.h"
#include "engine/run_limit.h"
#include "precision/quantise.h"
#include "precision/samples.h"

namespace ridge::precision {
namespace {

constexpr size_t kEntropyBins = 2048;
// [bytes] of exposed outputs per run. A model with more activations runs several times per sample.
constexpr size_t kBytesAtOnce = size_t{512} << 20;

// Σ p·ln(p/q) of both normalised; infinite if q is zero where p is not.
double divergence(std::span<const double> p, std::span<const double> q) {
  double p_sum = 0, q_sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    p_sum += p[i];
    q_sum += q[i];
  }
  if (p_sum <= 0 || q_sum <= 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] <= 0) continue;
    if (q[i] <= 0) return std::numeric_limits<double>::infinity();
    sum += p[i] / p_sum * std::log(p[i] * q_sum / (q[i] * p_sum));
  }
  return sum;
}

// The first `kept` bins expressed in `levels` levels: each level's total is spread evenly over its nonempty bins.
void quantise_bins(std::span<const double> bins, size_t kept, size_t levels, std::vector<double>& result) {
  result.assign(kept, 0);
  for (size_t level = 0; level < levels; ++level) {
    const size_t first = level * kept / levels, last = (level + 1) * kept / levels;
    double total = 0;
    int filled = 0;
    for (size_t i = first; i < last; ++i) {
      total += bins[i];
      filled += bins[i] > 0;
    }
    for (size_t i = first; i < last; ++i)
      if (bins[i] > 0) result[i] = total / filled;
  }
}

// A tensor whose range is needed, and its source in a run: an input of the model, or an output of the exposed one.
struct TensorTap {
  int input = -1, output = -1;
  size_t bytes = 0;  // of an output, from the last run
  Histogram histogram;
};

std::vector<float> floats_of(const TensorView& tensor) {
  std::vector<float> values(tensor.data.size() / data_type_size(tensor.type));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(element(tensor.type, tensor.data, i));
  return values;
}

void add_values(const TensorView& tensor, Histogram& histogram) {
  if (tensor.type == DataType::kFp32 && reinterpret_cast<uintptr_t>(tensor.data.data()) % alignof(float) == 0)
    return histogram.add({reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)});
  if (is_floating(tensor.type)) histogram.add(floats_of(tensor));
}

// An output's expected size; open dimensions count as 1 until the first run.
size_t expected_bytes(const TensorSpec& spec) {
  Shape shape = spec.shape;
  for (int64_t& dimension : shape) dimension = std::max<int64_t>(dimension, 1);
  return byte_size(spec.type, shape).value_or(0);
}

// The end of the group that begins with tensor `first`: the tensors that fit the memory for one run.
size_t end_of_group(const std::vector<TensorTap>& tensors, size_t first) {
  size_t end = first + 1;
  for (size_t bytes = tensors[first].bytes; end < tensors.size() && bytes + tensors[end].bytes <= kBytesAtOnce; ++end)
    bytes += tensors[end].bytes;
  return end;
}

Status run_group(engine::Session& session, std::span<const TensorView> inputs, std::span<TensorTap> tensors) {
  std::vector<int> wanted;
  for (const TensorTap& tensor : tensors)
    if (tensor.input < 0) wanted.push_back(tensor.output);
  std::vector<engine::Output> outputs(wanted.size());
  if (!wanted.empty()) RIDGE_TRY(session.run(inputs, wanted, outputs));
  size_t next = 0;
  for (TensorTap& tensor : tensors) {
    if (tensor.input >= 0) {
      add_values(inputs[static_cast<size_t>(tensor.input)], tensor.histogram);
      continue;
    }
    const engine::Output& output = outputs[next++];
    add_values({output.type, output.shape, output.data}, tensor.histogram);
    tensor.bytes = output.data.size();
  }
  return {};
}

Status run_sample(engine::Session& session, const Sample& sample, std::vector<TensorTap>& tensors) {
  const std::vector<TensorView> inputs = views_of(sample);
  for (size_t first = 0, end = 0; first < tensors.size(); first = end) {
    end = end_of_group(tensors, first);
    RIDGE_TRY(run_group(session, inputs, std::span(tensors).subspan(first, end - first)));
  }
  return {};
}

// The index of the spec of that name, -1 if there is none.
int place_of(const std::vector<TensorSpec>& specs, const std::string& name) {
  const TensorSpec* found = find_spec(specs, name);
  return found == nullptr ? -1 : static_cast<int>(found - specs.data());
}

Result<std::vector<TensorTap>> find_tensors(const engine::Signature& signature,
                                            const std::vector<std::string>& tensors) {
  std::vector<TensorTap> exposed;
  for (const std::string& name : tensors) {
    TensorTap tensor;
    tensor.input = place_of(signature.inputs, name);
    tensor.output = place_of(signature.outputs, name);
    if (tensor.input < 0 && tensor.output < 0)
      return Error{Code::kFailed, fmt::format("calibrate: the engine does not return the tensor '{}'", name)};
    if (tensor.input < 0) tensor.bytes = expected_bytes(signature.outputs[static_cast<size_t>(tensor.output)]);
    exposed.push_back(std::move(tensor));
  }
  return exposed;
}

// The model with `tensors` as outputs, open. Inputs are known without.
Result<std::unique_ptr<engine::Session>> open_exposed(const model::WholeModel& model, const plan::Plan& plan,
                                                      const std::vector<TensorSpec>& inputs,
                                                      const std::vector<std::string>& tensors, const std::string& file,
                                                      double seconds) {
  std::vector<std::string> inner;
  for (const std::string& tensor : tensors)
    if (place_of(inputs, tensor) < 0) inner.push_back(tensor);
  plan::Plan exposing = plan;
  exposing.model = file;
  RIDGE_TRY(expose_tensors(model, inner, exposing.model));
  Result<std::unique_ptr<engine::Session>> session = engine::open_for(seconds, exposing);
  if (!session) return wrap(session.error(), "calibrate: open the model with its activations as outputs");
  return session;
}

// Path of the exposed model.
struct OutputFolder {
  std::optional<TemporaryFolder> own;
  std::string folder;
};
Result<OutputFolder> output_folder_for(const ObserveOptions& options) {
  OutputFolder output;
  output.folder = options.folder;
  if (!output.folder.empty()) return output;
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  output.folder = folder.path();
  output.own.emplace(std::move(folder));
  return output;
}

// Removed at the end even if the folder stays.
struct ExposedFile {
  std::string path;
  ~ExposedFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(path + ".data", ignored);
  }
};

}  // namespace

std::string describe(const RangeOptions& options) {
  switch (options.method) {
    case RangeMethod::kMinMax: return "min-max";
    case RangeMethod::kPercentile: return fmt::format("percentile {:g}", options.percentile);
    case RangeMethod::kEntropy: return "entropy";
  }
  return "";
}

size_t entropy_threshold(std::span<const double> magnitudes, size_t levels) {
  size_t best = magnitudes.size();
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> kept, quantised;
  for (size_t m = levels; m <= magnitudes.size(); ++m) {
    kept.assign(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(m));
    for (size_t i = m; i < magnitudes.size(); ++i) kept.back() += magnitudes[i];
    quantise_bins(magnitudes, m, levels, quantised);
    const double lost = divergence(kept, quantised);
    if (lost <= least) {
      least = lost;
      best = m;
    }
  }
  return best;
}

std::optional<TensorRange> range_of(const Histogram& histogram, const RangeOptions& options) {
  if (histogram.empty()) return std::nullopt;
  TensorRange range{histogram.minimum(), histogram.maximum()};
  if (options.method == RangeMethod::kPercentile) {
    const double outside = std::clamp(1 - options.percentile / 100, 0.0, 1.0) / 2;
    range = {histogram.quantile(outside), histogram.quantile(1 - outside)};
  }
  if (options.method == RangeMethod::kEntropy) {
    const double largest = std::max(std::abs(range.minimum), std::abs(range.maximum));
    const size_t kept = entropy_threshold(histogram.magnitudes(kEntropyBins));
    const double threshold = largest * static_cast<double>(kept) / static_cast<double>(kEntropyBins);
    // Values that are all far from zero would be clipped completely.
    if (range.minimum < threshold && range.maximum > -threshold)
      range = {std::max(range.minimum, -threshold), std::min(range.maximum, threshold)};
  }
  return range;
}

Result<Activations> observe(const model::WholeModel& model, const plan::Plan& plan,
                            const std::vector<TensorSpec>& inputs, const std::vector<std::string>& tensors,
                            std::span<const Sample> samples, const ObserveOptions& options) {
  const TimePoint begin = options.clock->now();
  RIDGE_ASSIGN(const OutputFolder output, output_folder_for(options));
  const ExposedFile file{temporary_name(output.folder + "/exposed-") + ".onnx"};
  RIDGE_ASSIGN(const std::unique_ptr<engine::Session> session,
               open_exposed(model, plan, inputs, tensors, file.path, options.seconds));
  RIDGE_ASSIGN(std::vector<TensorTap> exposed, find_tensors(session->signature(), tensors));
  Activations result;
  for (const Sample& sample : samples) {
    if (options.interrupted && options.interrupted()) return Error{Code::kCancelled, "interrupted while calibrating"};
    if (options.seconds > 0 && result.samples > 0 && to_seconds(options.clock->now() - begin) > options.seconds) break;
    if (Status ran = run_sample(*session, sample, exposed); !ran) return wrap(ran.error(), "calibrate");
    ++result.samples;
    if (options.progress) options.progress(static_cast<double>(result.samples) / static_cast<double>(samples.size()));
  }
  if (result.samples < samples.size())
    result.notes.push_back(
        fmt::format("Calibrated with {} of {} samples, for lack of time.", result.samples, samples.size()));
  for (size_t i = 0; i < exposed.size(); ++i) {
    if (const int64_t bad = exposed[i].histogram.not_finite(); bad > 0)
      result.notes.push_back(fmt::format("'{}' held {} values that are not finite.", tensors[i], bad));
    result.tensors.emplace(tensors[i], std::move(exposed[i].histogram));
  }
  return result;
}

TensorRanges ranges_of(const Activations& activations, const RangeOptions& options) {
  TensorRanges ranges;
  for (const auto& [name, histogram] : activations.tensors)
    if (std::optional<TensorRange> range = range_of(histogram, options)) ranges[name] = *range;
  return ranges;
}

}  // namespace ridge::precision
