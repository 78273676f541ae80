// Any bytes are a safetensors file or an error; the tensors of a good one lie in it and have the size of their shape.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto tensors = ridge::checkpoint::read_safetensors(file);
  if (!tensors) return 0;
  size_t total = 0;
  for (const auto& [name, tensor] : *tensors) {
    if (ridge::byte_size(tensor.type, tensor.shape) != tensor.data.size()) std::abort();
    if (tensor.data.empty()) continue;
    if (tensor.data.data() < file.data() || tensor.data.data() + tensor.data.size() > file.data() + file.size())
      std::abort();
    total += tensor.data.size();
  }
  if (total >= size) std::abort();
  return 0;
}
