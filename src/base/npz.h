// NumPy's .npz file: named arrays (base/npy.h) in a zip archive.
//
// Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification" 6.3.10, sections 4.3 and 4.4. Read: what numpy.savez
// and numpy.savez_compressed write (members stored or deflated), up to 4 GiB; not encrypted or split archives. Written:
// members stored, readable by numpy.load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge {

struct NamedTensor {
  std::string name;  // of the member, without ".npy"
  Tensor tensor;
};

// `what` names the archive in the error. All members together unpack to at most `most_bytes`, or it is refused.
Result<std::vector<NamedTensor>> read_npz(std::span<const std::byte> bytes, std::string_view what,
                                          uint64_t most_bytes = uint64_t{4} << 30);

struct NamedView {
  std::string name;
  TensorView tensor;
};

// Errors: as write_npy(); arrays of together 4 GiB or more.
Result<std::string> write_npz(std::span<const NamedView> arrays);

}  // namespace ridge
