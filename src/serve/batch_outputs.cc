#include "serve/batch_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "serve/alignment.h"
#include "serve/classification.h"
#include "serve/region.h"
#include "serve/reshape.h"
#include "serve/sequences.h"

namespace ridge::serve {

// `index` as of slot_of_.
const TensorSettings& BatchOutputs::tensor(int index) const {
  const auto at = static_cast<size_t>(index);
  return at < settings_.outputs.size() ? settings_.outputs[at] : states_[at - settings_.outputs.size()].output;
}

void BatchOutputs::choose_wanted(std::span<const JobPtr> jobs) {
  bool all = std::any_of(jobs.begin(), jobs.end(), [](const JobPtr& job) { return job->wanted.empty(); });
  std::fill(slot_of_.begin(), slot_of_.end(), all ? 0 : -1);
  if (!all)
    for (const JobPtr& job : jobs)
      for (const WantedOutput& output : job->wanted) slot_of_[static_cast<size_t>(output.index)] = 0;
  const size_t listed = settings_.outputs.size();
  for (size_t i = 0; i < states_.size(); ++i) {  // always, once
    slot_of_[listed + i] = states_[i].listed ? -1 : 0;
    if (states_[i].listed) slot_of_[*states_[i].listed] = 0;
  }
  wanted_.clear();
  configured_.clear();
  for (size_t i = 0; i < slot_of_.size(); ++i) {
    if (slot_of_[i] < 0) continue;
    slot_of_[i] = static_cast<int>(wanted_.size());
    wanted_.push_back(tensor(static_cast<int>(i)).signature_index);
    configured_.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].listed) slot_of_[listed + i] = slot_of_[*states_[i].listed];
}

void BatchOutputs::prepare(std::span<const JobPtr> jobs, int64_t rows) {
  choose_wanted(jobs);
  outputs_.assign(wanted_.size(), {});
  size_t total = 0;
  for (size_t slot = 0; slot < outputs_.size(); ++slot) {
    const TensorSettings& tensor = this->tensor(configured_[slot]);
    if (!tensor.fixed_shape) continue;
    engine::Output& output = outputs_[slot];
    output.shape = *tensor.fixed_shape;
    if (settings_.batching()) output.shape.insert(output.shape.begin(), rows);
    std::optional<size_t> bytes = byte_size(tensor.type, output.shape);
    if (!bytes || *bytes == 0) continue;
    output.type = tensor.type;
    output.data = {static_cast<std::byte*>(nullptr), *bytes};
    total += padded(*bytes);
  }
  if (total == 0) return;
  auto block = std::make_shared<Buffer>(total);
  std::byte* next = block->data();
  for (engine::Output& output : outputs_) {
    if (output.data.empty()) continue;
    output.data = {next, output.data.size()};
    output.owner = block;
    next += padded(output.data.size());
  }
}

Status BatchOutputs::check(int64_t rows) const {
  for (size_t slot = 0; slot < outputs_.size(); ++slot) {
    const TensorSettings& tensor = this->tensor(configured_[slot]);
    const engine::Output& output = outputs_[slot];
    auto failed = [&](const std::string& what) {
      return Error{Code::kFailed, fmt::format("model '{}' gave output '{}' as {} {}, {}", settings_.name, tensor.name,
                                              data_type_name(output.type), shape_text(output.shape), what)};
    };
    if (output.type != tensor.type) return failed(fmt::format("expected {}", data_type_name(tensor.type)));
    if (settings_.batching() && (output.shape.empty() || output.shape[0] != rows))
      return failed(
          fmt::format("whose first dimension is not the batch size {}; set max_batch_size: 0 for this model", rows));
    auto dims = std::span(output.shape).subspan(settings_.batching() ? 1 : 0);
    if (tensor.reshape && !matches(*tensor.reshape, dims))
      return failed(fmt::format("its configuration reshapes from {}", shape_text(*tensor.reshape)));
    std::optional<int64_t> count = element_count(output.shape);
    if (!count) return failed("which is not a shape");
    if (output.type == DataType::kBytes) {
      Status block = check_bytes_block(output.data, *count);
      if (!block) return failed("whose elements are broken: " + block.error().message);
    } else if (byte_size(output.type, output.shape) != output.data.size()) {
      return failed(fmt::format("in {} bytes", output.data.size()));
    }
  }
  return {};
}

// BYTES rows have no common size: walks once and stores the start of each row.
void BatchOutputs::find_row_offsets(int64_t rows) {
  row_offsets_.resize(outputs_.size());
  for (size_t slot = 0; slot < outputs_.size(); ++slot) {
    std::vector<size_t>& offsets = row_offsets_[slot];
    offsets.clear();
    const engine::Output& output = outputs_[slot];
    if (output.type != DataType::kBytes) continue;
    int64_t per_row = element_count(output.shape).value_or(0) / rows;
    size_t at = 0;
    for (int64_t row = 0; row < rows; ++row) {
      offsets.push_back(at);
      for (int64_t i = 0; i < per_row; ++i) {
        uint32_t length = 0;
        std::memcpy(&length, output.data.data() + at, sizeof length);
        at += sizeof length + length;
      }
    }
    offsets.push_back(at);
  }
}

Shape BatchOutputs::client_shape(const TensorSettings& tensor, const Shape& shape, int64_t rows) const {
  Shape result = shape;
  if (tensor.reshape) {
    auto actual = std::span(shape).subspan(settings_.batching() ? 1 : 0);
    result = reshaped(*tensor.reshape, actual, tensor.dims);
    if (settings_.batching()) result.insert(result.begin(), rows);
  } else if (settings_.batching()) {
    result[0] = rows;
  }
  return result;
}

// Rows of a batching model.
std::span<const std::byte> BatchOutputs::rows_of(size_t slot, int64_t first_row, int64_t rows) const {
  const engine::Output& output = outputs_[slot];
  const auto first = static_cast<size_t>(first_row), count = static_cast<size_t>(rows);
  if (output.type == DataType::kBytes) {
    const std::vector<size_t>& offsets = row_offsets_[slot];
    return output.data.subspan(offsets[first], offsets[first + count] - offsets[first]);
  }
  const size_t row_size = output.data.size() / static_cast<size_t>(output.shape[0]);
  return output.data.subspan(first * row_size, count * row_size);
}

ResponseOutput BatchOutputs::part(int index, int64_t classification, int64_t first_row, int64_t rows) const {
  const TensorSettings& tensor = settings_.outputs[static_cast<size_t>(index)];
  auto slot = static_cast<size_t>(slot_of_[static_cast<size_t>(index)]);
  const engine::Output& output = outputs_[slot];
  ResponseOutput part{tensor.name, output.type, client_shape(tensor, output.shape, rows), output.data, output.owner};
  if (settings_.batching()) part.data = rows_of(slot, first_row, rows);
  if (classification > 0) return top_classes(std::move(part), classification, tensor.labels, settings_.batching());
  return part;
}

void BatchOutputs::add_outputs(Job& job, int64_t first_row, InferResponse& answer) const {
  if (job.wanted.empty()) {
    answer.outputs.reserve(settings_.outputs.size());
    for (size_t i = 0; i < settings_.outputs.size(); ++i)
      answer.outputs.push_back(part(static_cast<int>(i), 0, first_row, job.rows));
    return;
  }
  answer.outputs.reserve(job.wanted.size());
  for (const WantedOutput& output : job.wanted) {
    answer.outputs.push_back(part(output.index, output.classification, first_row, job.rows));
    if (!output.part) continue;
    Status written = write_to_region(answer.outputs.back(), *output.part);
    if (written) continue;
    job.failure = written.error();
    return;
  }
}

std::vector<Tensor> BatchOutputs::states_of(const Job& job, int64_t row) const {
  std::vector<Tensor> states;
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto slot = static_cast<size_t>(slot_of_[settings_.outputs.size() + i]);
    const engine::Output& output = outputs_[slot];
    std::span<const std::byte> bytes = output.data;
    Shape shape = output.shape;
    if (settings_.batching()) {
      shape.erase(shape.begin());
      bytes = rows_of(slot, row, job.rows);
    }
    Tensor& state = states.emplace_back(Tensor{output.type, std::move(shape), Buffer(bytes.size())});
    if (!bytes.empty()) std::memcpy(state.data.data(), bytes.data(), bytes.size());
  }
  return states;
}

Result<std::vector<InferResponse>> BatchOutputs::divide(std::span<const JobPtr> jobs, int64_t rows) {
  RIDGE_TRY(check(rows));
  if (settings_.batching()) find_row_offsets(rows);
  std::vector<InferResponse> answers;
  answers.reserve(jobs.size());
  std::vector<std::pair<Sequence*, std::vector<Tensor>>> states;
  for (const JobPtr& job : jobs) {
    InferResponse& answer = answers.emplace_back();
    answer.model = settings_.name;
    answer.version = settings_.version;
    answer.id = std::move(job->request.id);
    if (Status intact = inputs_intact(job->request); !intact) job->failure = intact.error();
    if (!job->failure) add_outputs(*job, job->first_row, answer);
    if (!job->failure && job->sequence != nullptr && !states_.empty())
      states.emplace_back(job->sequence, states_of(*job, job->first_row));
  }
  for (auto& [sequence, last] : states) sequence->states = std::move(last);
  outputs_.clear();
  return answers;
}

}  // namespace ridge::serve
