// Region: memory that a client has registered and that requests name instead of carrying tensors. Two kinds: of the system
// (system_region.h) and of a GPU (cuda_region.h).
//
// The client may change it at any time, also while a request uses it. So only what cannot lead the engine astray is used where it
// lies: floating point (is_steady). Indices, lengths and switches are copied before they are checked
// (docs/decisions/0009-shared-memory.md). Thread-safe; held by whoever uses it, registered or not.
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
  // Whether this part, which lies within the size, is really there now.
  virtual Status check(size_t offset, size_t size) const = 0;
  virtual Status read(size_t offset, std::span<std::byte> into) const = 0;
  virtual Status write(size_t offset, std::span<const std::byte> from) = 0;
  // After use: an error says that the memory went away meanwhile, so that what was read or written counts for nothing.
  virtual Status intact() const = 0;
};

// Whether an engine may read tensors of this type where another process can change them: their values lead to no address, length
// or branch.
bool is_steady(DataType type);

// [bytes] of the tensor, wherever it lies.
size_t size_of(const RequestInput& input);

// Of an output that does not fit where it is wanted.
Error too_little_room(const std::string& output, size_t bytes, const SharedMemoryView& part);

// Fails if a region that the request's inputs lie in went away.
Status inputs_intact(const InferRequest& request);

// Copies an input out of its region into memory of the caller's, where it then lies.
Status take_over(RequestInput& input, std::span<std::byte> memory);

// The inputs with those in regions copied into memory of `owner`. May throw std::bad_alloc.
struct OwnInputs {
  std::vector<RequestInput> inputs;
  std::shared_ptr<const void> owner;
};
Result<OwnInputs> with_own_memory(const InferRequest& request);

}  // namespace ridge::serve
