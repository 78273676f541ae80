#include "serve/batch_inputs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "serve/alignment.h"
#include "serve/region.h"
#include "serve/reshape.h"

namespace ridge::serve {
namespace {

// The address of tensors without elements: engines refuse null.
alignas(kAlignment) constexpr std::byte kNothing[kAlignment] = {};

bool usable_in_place(const RequestInput& input) {
  size_t element = std::max<size_t>(1, data_type_size(input.type));
  if (input.part && (input.data.data() == nullptr || !is_steady(input.type))) return false;
  return reinterpret_cast<uintptr_t>(input.data.data()) % element == 0;
}

void copy_from_region(Job& job, const SharedMemoryView& part, std::span<std::byte> into) {
  Status read = part.memory->read(part.offset, into);
  if (read) return;
  std::memset(into.data(), 0, into.size());
  job.failure = read.error();
}

// [bytes] of one row without a request, in a batch with `input`.
size_t empty_row_size(const RequestInput& input) {
  const int64_t elements = element_count(std::span(input.shape).subspan(1)).value_or(0);
  const size_t element = input.type == DataType::kBytes ? sizeof(uint32_t) : data_type_size(input.type);
  return static_cast<size_t>(elements) * element;
}

}  // namespace

bool BatchInputs::in_place(std::span<const JobPtr> jobs, size_t input, int64_t rows) {
  return jobs.size() == 1 && jobs.front()->rows == rows && usable_in_place(jobs.front()->request.inputs[input]);
}

void BatchInputs::set_shape(TensorView& view, const TensorSettings& tensor, const Shape& shape, int64_t rows) const {
  if (!tensor.reshape) {
    view.shape.assign(shape.begin(), shape.end());
    if (settings_.batching()) view.shape[0] = rows;
    return;
  }
  auto actual = std::span(shape).subspan(settings_.batching() ? 1 : 0);
  view.shape = reshaped(tensor.dims, actual, *tensor.reshape);
  if (settings_.batching()) view.shape.insert(view.shape.begin(), rows);
}

void BatchInputs::reserve(std::span<const JobPtr> jobs, int64_t rows) {
  size_t needed = 0;
  int64_t empty_rows = rows;
  for (const JobPtr& job : jobs) empty_rows -= job->rows;
  for (size_t i = 0; i < settings_.inputs.size(); ++i) {
    if (in_place(jobs, i, rows)) continue;
    size_t bytes = 0;
    for (const JobPtr& job : jobs) bytes += size_of(job->request.inputs[i]);
    if (empty_rows > 0) bytes += static_cast<size_t>(empty_rows) * empty_row_size(jobs.front()->request.inputs[i]);
    needed += padded(bytes);
  }
  used_ = 0;
  if (needed > buffer_.size()) buffer_ = Buffer(needed);
}

std::span<const std::byte> BatchInputs::gather(std::span<const JobPtr> jobs, size_t input) {
  std::byte* start = buffer_.data() + used_;
  std::byte* end = start;
  int64_t row = 0;
  for (const JobPtr& job : jobs) {
    const RequestInput& from = job->request.inputs[input];
    if (row < job->first_row) {
      const size_t empty = static_cast<size_t>(job->first_row - row) * empty_row_size(from);
      std::memset(end, 0, empty);
      end += empty;
    }
    row = job->first_row + job->rows;
    const size_t bytes = size_of(from);
    if (bytes == 0) continue;
    if (from.part)
      copy_from_region(*job, *from.part, {end, bytes});
    else
      std::memcpy(end, from.data.data(), bytes);
    end += bytes;
  }
  auto size = static_cast<size_t>(end - start);
  used_ += padded(size);
  return {start, size};
}

std::span<const TensorView> BatchInputs::assemble(std::span<const JobPtr> jobs, int64_t rows) {
  const auto& first = jobs.front()->request.inputs;
  reserve(jobs, rows);
  for (size_t i = 0; i < settings_.inputs.size(); ++i) {
    const TensorSettings& tensor = settings_.inputs[i];
    TensorView& view = views_[static_cast<size_t>(tensor.signature_index)];
    view.type = first[i].type;
    if (view.type == DataType::kInvalid) continue;
    set_shape(view, tensor, first[i].shape, rows);
    view.data = in_place(jobs, i, rows) ? first[i].data : gather(jobs, i);
    if (view.data.empty()) view.data = {kNothing, size_t{0}};
  }
  sequences_.add(jobs, rows, views_);
  return views_;
}

}  // namespace ridge::serve
