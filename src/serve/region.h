// Region: memory registered by a client, which requests name instead of carrying tensors. Two kinds: of the system
// (system_region.h) and of a GPU (cuda_region.h).
//
// The client may change it at any time, also while a request uses it. So only data that cannot mislead the engine is
// used in place: floating point (is_steady). Indices, lengths and switches are copied before they are checked
// (docs/decisions/0009-shared-memory.md). Thread-safe; its users hold it, registered or not.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::serve {

class Region {
 public:
  virtual ~Region() = default;
  virtual size_t size() const = 0;  // [bytes]
  // Where the CPU sees it; empty: it does not, and only read() and write() reach it.
  virtual std::span<std::byte> bytes() const = 0;
  // Checks that this part, within the size, really exists now.
  virtual Status check(size_t offset, size_t size) const = 0;
  virtual Status read(size_t offset, std::span<std::byte> into) const = 0;
  virtual Status write(size_t offset, std::span<const std::byte> from) = 0;
  // After use: an error says that the memory disappeared meanwhile, so that the data read or written is invalid.
  virtual Status intact() const = 0;
};

// True if an engine may read tensors of this type while another process can change them: their values lead to no
// address, length or branch.
bool is_steady(DataType type);

// [bytes] of the tensor, at any location.
size_t size_of(const RequestInput& input);

// For an output that does not fit its region.
Error too_little_room(const std::string& output, size_t bytes, const SharedMemoryView& part);

// Writes an output to the part of a region that the client named for it. kInvalid: it does not fit.
Status write_to_region(ResponseOutput& output, const SharedMemoryView& part);

// Fails if a region with the request's inputs has disappeared.
Status inputs_intact(const InferRequest& request);

// Copies an input from its region into the caller's memory, and points the input there.
Status take_over(RequestInput& input, std::span<std::byte> memory);

// The inputs with those in regions copied into memory of `owner`. May throw std::bad_alloc.
struct OwnInputs {
  std::vector<RequestInput> inputs;
  std::shared_ptr<const void> owner;
};
Result<OwnInputs> with_own_memory(const InferRequest& request);

}  // namespace ridge::serve
