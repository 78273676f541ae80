#include "serve/region.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::serve {

bool is_steady(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 || type == DataType::kFp32 || type == DataType::kFp64;
}

size_t size_of(const RequestInput& input) {
  return input.part ? static_cast<size_t>(input.part->byte_size) : input.data.size();
}

Error too_little_room(const std::string& output, size_t bytes, const SharedMemoryView& part) {
  return invalid(
      fmt::format("shared memory size specified with the request for output '{}' ({} bytes of region '{}') "
                  "should be at least {} bytes to hold the results",
                  output, part.byte_size, part.region, bytes));
}

Status write_to_region(ResponseOutput& output, const SharedMemoryView& part) {
  if (output.data.size() > part.byte_size) return too_little_room(output.name, output.data.size(), part);
  Status written = part.memory->write(part.offset, output.data);
  if (!written) return wrap(written.error(), fmt::format("output '{}'", output.name));
  output.in_region = true;
  output.data = {};
  output.owner.reset();
  return {};
}

Status inputs_intact(const InferRequest& request) {
  for (const RequestInput& input : request.inputs)
    if (input.part && input.part->memory) RIDGE_TRY(input.part->memory->intact());
  return {};
}

Status take_over(RequestInput& input, std::span<std::byte> memory) {
  RIDGE_TRY(input.part->memory->read(input.part->offset, memory));
  RIDGE_TRY(input.part->memory->intact());
  input.data = memory;
  input.part.reset();
  return {};
}

Result<OwnInputs> with_own_memory(const InferRequest& request) {
  OwnInputs own{request.inputs, request.body};
  if (std::none_of(own.inputs.begin(), own.inputs.end(), [](const RequestInput& input) { return input.part; }))
    return own;
  auto blocks = std::make_shared<std::pair<std::vector<Buffer>, std::shared_ptr<const void>>>();
  for (RequestInput& input : own.inputs) {
    if (!input.part) continue;
    Buffer& block = blocks->first.emplace_back(size_of(input));
    RIDGE_TRY(take_over(input, block.span()));
  }
  blocks->second = request.body;
  own.owner = std::move(blocks);
  return own;
}

}  // namespace ridge::serve
