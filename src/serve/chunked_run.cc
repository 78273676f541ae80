#include "serve/chunked_run.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <memory>

namespace ridge::serve {
namespace {

// One part's rows of the whole.
struct Range {
  int64_t first = 0, count = 0, of = 1;
};

template <typename Byte>
std::span<Byte> cut_bytes(std::span<Byte> bytes, const Range& range) {
  const size_t row = bytes.size() / static_cast<size_t>(range.of);
  return bytes.subspan(static_cast<size_t>(range.first) * row, static_cast<size_t>(range.count) * row);
}

std::vector<TensorView> cut_inputs(std::span<const TensorView> inputs, const Range& range) {
  std::vector<TensorView> part(inputs.begin(), inputs.end());
  for (TensorView& view : part) {
    if (view.type == DataType::kInvalid) continue;
    view.shape[0] = range.count;
    view.data = cut_bytes(view.data, range);
  }
  return part;
}

std::vector<engine::Output> cut_outputs(std::span<const engine::Output> outputs, const Range& range) {
  std::vector<engine::Output> part(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data.empty()) continue;
    part[i] = outputs[i];
    part[i].shape[0] = range.count;
    part[i].data = cut_bytes(outputs[i].data, range);
  }
  return part;
}

bool has_strings(const engine::Signature& signature) {
  auto text = [](const TensorSpec& spec) { return spec.type == DataType::kBytes; };
  return std::any_of(signature.inputs.begin(), signature.inputs.end(), text) ||
         std::any_of(signature.optional_inputs.begin(), signature.optional_inputs.end(), text) ||
         std::any_of(signature.outputs.begin(), signature.outputs.end(), text);
}

Error not_rows(const engine::Output& part, const std::string& name, int64_t rows) {
  return {Code::kFailed, "a run of " + std::to_string(rows) + " rows gave output '" + name + "' as " +
                             shape_text(part.shape) +
                             ", which cannot be joined with other rows; set max_batch_size: 0 for this model"};
}

// The engine's outputs for the parts, concatenated.
Result<engine::Output> join(std::span<const engine::Output* const> parts, std::span<const int64_t> rows,
                            const std::string& name) {
  engine::Output whole = *parts.front();
  size_t bytes = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape& shape = parts[i]->shape;
    const bool fits =
        !shape.empty() && shape[0] == rows[i] &&
        std::equal(std::next(shape.begin()), shape.end(), std::next(whole.shape.begin()), whole.shape.end());
    if (!fits) return not_rows(*parts[i], name, rows[i]);
    if (i > 0) whole.shape[0] += rows[i];
    bytes += parts[i]->data.size();
  }
  auto block = std::make_shared<Buffer>(bytes);
  std::byte* next = block->data();
  for (const engine::Output* part : parts) {
    if (!part->data.empty()) std::memcpy(next, part->data.data(), part->data.size());
    next += part->data.size();
  }
  whole.data = block->span();
  whole.owner = std::move(block);
  return whole;
}

}  // namespace

std::vector<int64_t> parts_of(int64_t rows, std::span<const int64_t> prepared) {
  assert(!prepared.empty() && prepared.front() == 1);
  std::vector<int64_t> parts;
  for (auto size = prepared.rbegin(); rows > 0;) {
    while (*size > rows) ++size;
    parts.push_back(*size);
    rows -= *size;
  }
  return parts;
}

Status run_in_parts(engine::Session& session, std::span<const int64_t> parts, std::span<const TensorView> inputs,
                    std::span<const int> wanted, std::span<engine::Output> outputs) {
  if (parts.size() == 1 || has_strings(session.signature())) return session.run(inputs, wanted, outputs);
  Range range;
  range.of = 0;
  for (const int64_t rows : parts) range.of += rows;
  std::vector<std::vector<engine::Output>> made;
  for (const int64_t rows : parts) {
    range.count = rows;
    made.push_back(cut_outputs(outputs, range));
    RIDGE_TRY(session.run(cut_inputs(inputs, range), wanted, made.back()));
    range.first += rows;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].data.empty()) continue;
    std::vector<const engine::Output*> pieces;
    for (const std::vector<engine::Output>& part : made) pieces.push_back(&part[i]);
    RIDGE_ASSIGN(outputs[i], join(pieces, parts, session.signature().outputs[static_cast<size_t>(wanted[i])].name));
  }
  return {};
}

}  // namespace ridge::serve
