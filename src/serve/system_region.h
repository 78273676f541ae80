// SystemRegion: a region in POSIX shared memory (shm_open), created by another process of this machine. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "serve/region.h"

namespace ridge::serve {

// Checks that a key can name a region's object: one name, with or without a leading slash, without further path
// components, and not reserved by another library.
Status check_key(const std::string& key);

// Opens and maps the object that the request names; it must be there and hold offset + byte_size bytes. The object may
// be unlinked afterwards.
Result<std::shared_ptr<Region>> open_system_region(const RegionRequest& request);

}  // namespace ridge::serve
