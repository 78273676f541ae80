#include "serve/warmup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "serve/request_check.h"

namespace ridge::serve {
namespace {

constexpr int64_t kEverySizeUpTo = 16;
constexpr int64_t kLargestBlock = int64_t{1} << 32;  // of one warm-up tensor [bytes]

Shape with_batch(Shape dims, int64_t batch) {
  if (batch > 0) dims.insert(dims.begin(), batch);
  return dims;
}

Result<int64_t> count_elements(const std::string& name, const Shape& shape) {
  std::optional<int64_t> count = element_count(shape);
  if (count && *count <= kLargestBlock / 8) return *count;
  return Error{Code::kInvalid, fmt::format("warm-up input '{}' with shape {} is too large", name, shape_text(shape))};
}

std::string zeros(DataType type, int64_t count) {
  size_t element = type == DataType::kBytes ? sizeof(uint32_t) : data_type_size(type);
  return std::string(static_cast<size_t>(count) * element, '\0');
}

template <typename T>
void fill_uniform(std::string& block, std::mt19937_64& random) {
  std::uniform_real_distribution<T> uniform(0, 1);
  for (size_t at = 0; at + sizeof(T) <= block.size(); at += sizeof(T)) {
    T value = uniform(random);
    std::memcpy(block.data() + at, &value, sizeof value);
  }
}

// Floats in [0, 1); texts of one letter; everything else random bits, but small ones, likely valid as indices.
std::string random_values(DataType type, int64_t count) {
  std::mt19937_64 random(1);
  std::string block = zeros(type, count);
  if (type == DataType::kFp32) {
    fill_uniform<float>(block, random);
  } else if (type == DataType::kFp64) {
    fill_uniform<double>(block, random);
  } else if (type == DataType::kBytes) {
    block.clear();
    for (int64_t i = 0; i < count; ++i) {
      block.append("\1\0\0\0", 4);
      block.push_back(static_cast<char>('a' + random() % 26));
    }
  } else {
    size_t element = data_type_size(type);
    for (size_t at = 0; at < block.size(); at += element) block[at] = static_cast<char>(random() % 2);
  }
  return block;
}

// The packed values of `batch` rows (0: no batch dimension).
Result<std::string> values_of(const WarmupTensor& tensor, int64_t batch) {
  RIDGE_ASSIGN(int64_t count, count_elements(tensor.name, with_batch(tensor.dims, batch)));
  if (tensor.data == WarmupTensor::Data::kZero) return zeros(tensor.type, count);
  if (tensor.data == WarmupTensor::Data::kRandom) return random_values(tensor.type, count);
  RIDGE_ASSIGN(std::string row, read_file(tensor.file));
  std::string block;
  for (int64_t i = 0; i < std::max<int64_t>(1, batch); ++i) block += row;
  return block;
}

Status run_sample(const ModelSettings& settings, const WarmupSample& sample, BatchRunner& runner) {
  std::vector<std::string> blocks;
  blocks.reserve(sample.inputs.size());  // the requests point into the strings
  InferRequest request;
  request.model = settings.name;
  for (const WarmupTensor& tensor : sample.inputs) {
    RIDGE_ASSIGN(std::string values, values_of(tensor, sample.batch));
    blocks.push_back(std::move(values));
    request.inputs.push_back(
        {tensor.name, tensor.type, with_batch(tensor.dims, sample.batch), std::as_bytes(std::span(blocks.back()))});
  }
  Jobs jobs(1);
  RIDGE_ASSIGN(jobs[0], check_request(settings, std::move(request)));
  BatchTimes times;
  auto answers = runner.run(jobs, times);
  return answers ? ok_status() : Status(answers.error());
}

// The first sample of the configuration that provides every input, or null.
const WarmupSample* whole_sample(const ModelSettings& settings) {
  for (const WarmupSample& sample : settings.warmup_samples) {
    auto gives = [&](const TensorSettings& input) {
      return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                         [&](const WarmupTensor& tensor) { return tensor.name == input.name; });
    };
    if (std::all_of(settings.inputs.begin(), settings.inputs.end(), gives)) return &sample;
  }
  return nullptr;
}

// `batch` rows: of the configuration's sample, which has the real dimensions; else of zeros.
WarmupSample sample_of(const ModelSettings& settings, int64_t batch) {
  WarmupSample sample;
  const WarmupSample* configured = whole_sample(settings);
  if (configured != nullptr) sample = *configured;
  sample.name = fmt::format("batch size {}", batch);
  if (configured == nullptr || settings.batching()) sample.batch = settings.batching() ? batch : 0;
  if (configured != nullptr) return sample;
  for (const TensorSettings& input : settings.inputs) {
    Shape dims = input.dims;
    std::replace(dims.begin(), dims.end(), int64_t{-1}, int64_t{1});
    sample.inputs.push_back({input.name, input.type, dims, WarmupTensor::Data::kZero, ""});
  }
  return sample;
}

// Batches that ran: all, or none if one failed.
std::vector<int64_t> warm_up_batches(const ModelSettings& settings, BatchRunner& runner, const std::stop_token& stop) {
  std::vector<int64_t> batches = warmup_batches(settings.max_batch_size, settings.queue.batch.preferred);
  for (int64_t batch : batches) {
    if (stop.stop_requested()) return {};
    Status ran = run_sample(settings, sample_of(settings, batch), runner);
    if (ran) continue;
    if (stop.stop_requested()) return {};
    log::warning("model '{}' version {}: warm-up with batch size {} failed; the model is served without it: {}",
                 settings.name, settings.version, batch, ran.error().message);
    return {};
  }
  return batches;
}

}  // namespace

std::vector<int64_t> warmup_batches(int64_t max_batch_size, const std::vector<int64_t>& preferred) {
  if (max_batch_size < 1) return {1};
  std::set<int64_t> sizes = {max_batch_size};
  for (int64_t size = 1; size < max_batch_size; size += size < kEverySizeUpTo ? 1 : size) sizes.insert(size);
  for (int64_t size : preferred)
    if (size >= 1 && size <= max_batch_size) sizes.insert(size);
  return {sizes.begin(), sizes.end()};
}

std::map<std::string, Shape> shapes_of_sample(const ModelSettings& settings) {
  std::map<std::string, Shape> shapes;
  if (const WarmupSample* sample = whole_sample(settings); sample != nullptr)
    for (const TensorSettings& input : settings.inputs)
      for (const WarmupTensor& tensor : sample->inputs)
        if (tensor.name == input.name && !input.reshape) shapes[input.name] = with_batch(tensor.dims, 1);
  return shapes;
}

uint64_t largest_batch_bytes(const ModelSettings& settings) {
  uint64_t total = 0;
  for (const auto* tensors : {&settings.inputs, &settings.outputs})
    for (const TensorSettings& tensor : *tensors) {
      Shape shape = with_batch(tensor.dims, settings.max_batch_size);
      std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{1});
      const std::optional<int64_t> count = element_count(shape);
      const uint64_t element = std::max<uint64_t>(1, data_type_size(tensor.type));
      uint64_t bytes = 0;
      if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), element, &bytes) ||
          __builtin_add_overflow(total, bytes, &total))
        return std::numeric_limits<uint64_t>::max();
    }
  return total;
}

Result<std::vector<int64_t>> warm_up(const ModelSettings& settings, BatchRunner& runner, const std::stop_token& stop) {
  std::vector<int64_t> batches;
  if (settings.warmup_batches) batches = warm_up_batches(settings, runner, stop);
  for (const WarmupSample& sample : settings.warmup_samples)
    for (int i = 0; i < sample.count && !stop.stop_requested(); ++i) {
      Status ran = run_sample(settings, sample, runner);
      if (!ran && !stop.stop_requested()) return wrap(ran.error(), fmt::format("warm-up sample '{}'", sample.name));
    }
  if (stop.stop_requested()) return Error{Code::kCancelled, "the warm-up was cancelled"};
  return batches;
}

}  // namespace ridge::serve
