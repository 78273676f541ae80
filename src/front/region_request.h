// Checks of a request to register shared memory, for all protocols. Pure.
#pragma once

#include <cstddef>

namespace ridge::front {

constexpr size_t kHandleBytes = 64;  // of a GPU's region: CU_IPC_HANDLE_SIZE

}  // namespace ridge::front
