#include "precision/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/element.h"
#include "base/random.h"
#include "measure/inputs.h"

namespace ridge::precision {
namespace {

Result<std::vector<SampleInput>> inputs_of(const engine::Signature& signature,
                                           const std::map<std::string, Shape>& shapes) {
  std::vector<SampleInput> inputs;
  for (const TensorSpec& spec : signature.inputs) {
    const auto given = shapes.find(spec.name);
    SampleInput input{spec, given == shapes.end() ? spec.shape : given->second};
    if (!element_count(input.shape) || input.shape.size() != spec.shape.size())
      return Error{Code::kInvalid, fmt::format("input '{}' has shape {}: give --shape {}=… with 'x' between", spec.name,
                                               shape_text(spec.shape), spec.name)};
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// The same order for the same seed with every standard library (std::shuffle does not guarantee that).
void shuffle(std::vector<Sample>& samples, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t i = samples.size(); i > 1; --i) std::swap(samples[i - 1], samples[random() % i]);
}

// The requested number of each part; with fewer samples, both shrink alike.
void split(std::vector<Sample> all, const SampleOptions& options, Samples& samples) {
  shuffle(all, options.seed);
  const size_t asked = options.calibration + options.held_out;
  size_t calibration = std::min(options.calibration, all.size() * options.calibration / asked);
  calibration = std::clamp<size_t>(calibration, 1, std::max<size_t>(all.size() - 1, 1));
  for (size_t i = 0; i < all.size(); ++i)
    (i < calibration ? samples.calibration : samples.held_out).push_back(std::move(all[i]));
}

// [bytes] of one sample; strings count as 0.
size_t sample_bytes(const engine::Signature& signature, const std::map<std::string, Shape>& shapes) {
  size_t bytes = 0;
  for (const TensorSpec& spec : signature.inputs) {
    const auto given = shapes.find(spec.name);
    bytes += byte_size(spec.type, given == shapes.end() ? spec.shape : given->second).value_or(0);
  }
  return bytes;
}

// Fewer samples if they exceed the memory for them.
void fit_memory(SampleOptions& options, size_t bytes_each, std::vector<std::string>& notes) {
  const size_t asked = options.calibration + options.held_out;
  const size_t most = std::max<size_t>(2, options.most_bytes / std::max<size_t>(1, bytes_each));
  if (asked <= most) return;
  options.calibration = std::clamp<size_t>(options.calibration * most / asked, 1, most - 1);
  options.held_out = std::min(options.held_out, most - options.calibration);
  notes.push_back(fmt::format("Samples of {} MiB each: {} instead of {} are used, to fit {} MiB.", bytes_each >> 20,
                              options.calibration + options.held_out, asked, options.most_bytes >> 20));
}

Result<Samples> synthetic_samples(const engine::Signature& signature, const std::map<std::string, Shape>& shapes,
                                  const model::Graph* graph, const SampleOptions& options) {
  Samples samples;
  samples.synthetic = true;
  samples.origin = fmt::format("synthetic, seed {}", options.seed);
  const size_t count = options.calibration + options.held_out;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t seed = options.seed * kGoldenGamma + i;  // far apart for neighbouring `options.seed`
    RIDGE_ASSIGN(Sample sample, measure::make_inputs(signature, shapes, graph, seed));
    (i < options.calibration ? samples.calibration : samples.held_out).push_back(std::move(sample));
  }
  return samples;
}

Result<Samples> file_samples(const engine::Signature& signature, const std::map<std::string, Shape>& shapes,
                             const SampleOptions& options) {
  RIDGE_ASSIGN(const std::vector<SampleInput> inputs, inputs_of(signature, shapes));
  RIDGE_ASSIGN(SampleFiles files, read_sample_files(options.path, inputs, options.images,
                                                    options.calibration + options.held_out, options.seed));
  Samples samples;
  samples.origin = files.what;
  samples.notes = std::move(files.notes);
  split(std::move(files.samples), options, samples);
  if (samples.held_out.empty()) {
    samples.shared = true;
    Sample& held_out = samples.held_out.emplace_back();
    for (const Tensor& tensor : samples.calibration[0]) held_out.push_back(copy_of(tensor.view()));
    samples.notes.push_back("There is only one sample: the model is judged on its calibration data.");
  }
  return samples;
}

}  // namespace

Result<Samples> gather_samples(const engine::Signature& signature, const std::map<std::string, Shape>& shapes,
                               const model::Graph* graph, const SampleOptions& options) {
  if (options.calibration == 0 || options.held_out == 0)
    return Error{Code::kInvalid, "samples to calibrate with and samples to judge on must be at least 1 each"};
  SampleOptions fitting = options;
  std::vector<std::string> notes;
  fit_memory(fitting, sample_bytes(signature, shapes), notes);
  Result<Samples> samples = options.path.empty() ? synthetic_samples(signature, shapes, graph, fitting)
                                                 : file_samples(signature, shapes, fitting);
  if (samples) samples->notes.insert(samples->notes.end(), notes.begin(), notes.end());
  return samples;
}

std::string provenance(const Samples& samples, size_t judged) {
  return fmt::format(
      "the deviation was measured on {}{} held-out samples ({}){}", judged,
      judged < samples.held_out.size() ? fmt::format(" of {}", samples.held_out.size()) : "", samples.origin,
      samples.synthetic ? ": synthetic data says little about accuracy on your data; give --calibration" : "");
}

std::vector<TensorView> views_of(const Sample& sample) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : sample) views.push_back(tensor.view());
  return views;
}

}  // namespace ridge::precision
