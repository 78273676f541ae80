// What a thread did before it gave something to gRPC is seen by the thread that gets it back: gRPC orders them. The thread sanitizer,
// which cannot look into gRPC, learns it here; in other builds nothing happens.
#pragma once

#ifdef RIDGE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace ridge::front::grpc {

inline void given_to_grpc([[maybe_unused]] void* what) {
#ifdef RIDGE_THREAD_SANITIZER
  __tsan_release(what);
#endif
}

inline void back_from_grpc([[maybe_unused]] void* what) {
#ifdef RIDGE_THREAD_SANITIZER
  __tsan_acquire(what);
#endif
}

}  // namespace ridge::front::grpc
