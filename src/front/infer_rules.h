// Rules for the readers of inference requests of all protocols: the meaning of parameters, and a request's cost. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::front {

// "FP32" → kFp32. kInvalid: a name that the protocol does not have.
Result<DataType> read_data_type(std::string_view name);

// The parameter "timeout" [microseconds], 0 or more; 0 = none.
void set_timeout(serve::InferRequest& request, int64_t microseconds);

// The parameters shared_memory_region, _offset and _byte_size of a tensor: a part of a region if they name one, an
// error if one is missing.
Result<std::optional<serve::SharedMemoryView>> region_part(std::optional<std::string> region,
                                                           std::optional<uint64_t> offset,
                                                           std::optional<uint64_t> byte_size);

// True if a tensor of the request is in shared memory, which not every client may use.
bool uses_regions(const serve::InferRequest& request);

// True if the check of the request walks so many elements of BYTES that it belongs on a thread of its own.
bool has_many_elements(const serve::InferRequest& request);

}  // namespace ridge::front
