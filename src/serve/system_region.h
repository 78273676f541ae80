// SystemRegion: a region in POSIX shared memory (shm_open), as another process of this machine made it. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "serve/region.h"

namespace ridge::serve {

// Whether a key names an object that a region may be of: one name, with or without a slash in front, that leads nowhere else and
// that no other library keeps for itself.
Status check_key(const std::string& key);

// Opens and maps the object that the request names; it must be there and hold offset + byte_size bytes. The object may be
// unlinked afterwards.
Result<std::shared_ptr<Region>> open_system_region(const RegionRequest& request);

}  // namespace ridge::serve
