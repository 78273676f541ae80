// Any bytes are an array, an archive of arrays, or an error; valid input survives writing and reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/npy.h"
#include "base/npz.h"

namespace {

bool same(const ridge::Tensor& a, const ridge::Tensor& b) {
  return a.type == b.type && a.shape == b.shape && a.data.size() == b.data.size() &&
         (a.data.size() == 0 || std::memcmp(a.data.data(), b.data.data(), a.data.size()) == 0);
}

void check(const ridge::Tensor& tensor) {
  const ridge::Result<std::string> written = ridge::write_npy(tensor.view());
  if (!written) std::abort();
  const ridge::Result<ridge::Tensor> again = ridge::read_npy(std::as_bytes(std::span(*written)), "again");
  if (!again || !same(tensor, *again)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto array = ridge::read_npy(bytes, "array")) check(*array);
  if (const auto archive = ridge::read_npz(bytes, "archive", 1 << 20))
    for (const ridge::NamedTensor& member : *archive) check(member.tensor);
  return 0;
}
