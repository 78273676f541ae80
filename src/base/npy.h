// NumPy's .npy file: one array with its type and shape. The common format of calibration data, recorded requests and
// users' own scripts.
//
// Source: NumPy, "numpy.lib.format" (NEP 1), format versions 1.0, 2.0 and 3.0. NumPy's names of types become those of
// base/tensor.h; BF16, which NumPy lacks, is the two opaque bytes "V2", as saved by the ml_dtypes package.
// BYTES are NumPy's fixed-width strings: read from "S" and "U" (as UTF-8), written as "S".
// Arrays of Python objects (pickles are never opened) and of records are errors.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge {

// `what` names the array in the error ("data/a.npy"). Column-major and big-endian arrays are turned into
// base/tensor.h's layout. Memory is bounded by a small multiple of `bytes`, whatever the header claims.
Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view what);

// Called with the array's shape; returns indices along its first dimension, ascending; absent: all of it.
using ChooseRows = std::function<std::optional<std::vector<int64_t>>(const Shape& shape)>;
// The chosen rows of a file; the tensor's first dimension is their number. Row-major numbers take the memory of these
// rows, whatever the file holds; other arrays are read as a whole first.
Result<Tensor> read_npy_file(const std::string& path, const ChooseRows& choose);

// Version 1.0, row-major, little-endian. Error: strings that end in a zero byte, which NumPy's "S" cannot hold.
Result<std::string> write_npy(const TensorView& tensor);

// The error for an unreadable file of arrays: kInvalid, "read data/a.npy: …".
Error unreadable_array(std::string_view what, const std::string& why);

}  // namespace ridge
