// A fake for NCCL that reduces, gathers, scatters and broadcasts over the memory of the fake for NVIDIA's driver (fake_cuda.cc):
// a GPU's part of an operation waits in its stream until every GPU has come to its own, and the last one to come does the work. What
// forgets to wait for one of them sees old values. Loaded by RIDGE_NCCL=<this file>.
// RIDGE_FAKE_NCCL names a script (scripted_gpus.h) of `fail` lines with NCCL codes, `hang` lines, and
//   version 22803
//   stuck_after 3              the fourth operation never ends, until it is aborted
//   async_error_after 3 6      nor does it here, and the communicator answers that code
//   wrong_after 3              the fourth operation and all later ones compute something wrong
// With FAKE_NCCL_ANCIENT defined it is older than 2.4.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "gpu/cuda/abi.h"
#include "gpu/nccl/abi.h"
#include "scripted_gpus.h"

using namespace ridge::gpu::nccl;
namespace cuda = ridge::gpu::cuda;

namespace {

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

const ridge::fake::Part& script() { return ridge::fake::script_of("RIDGE_FAKE_NCCL").system; }
int outcome(const char* function) { return ridge::fake::outcome(script(), function, int{kSuccess}); }

// Whether the script says that something begins after so many operations, and it has.
bool due(const char* key, int operation, int* code = nullptr) {
  std::istringstream words(ridge::fake::text_of(script(), key));
  int after = 0, given = 0;
  if (!(words >> after) || operation < after) return false;
  if (words >> given && code != nullptr) *code = given;
  return true;
}

// A function of the driver that the process has open.
template <typename Signature>
Signature* driver(const char* name) {
  void* library = dlopen(std::getenv("RIDGE_CUDA"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Signature*>(dlsym(library, name));
}

struct Group {
  int size = 0;
  std::atomic<int> operations = 0;
  std::atomic<bool> aborted = false;
  std::atomic<int> error = kSuccess;
};

struct Member {
  std::shared_ptr<Group> group;
  int rank = 0, device = 0;
};

struct Call {
  Member* member;
  Kind kind;
  const float* from;
  float* to;
  size_t count;  // as the function has it
  int root;
  Stream stream;
};

// One operation of all GPUs.
struct Meeting {
  std::shared_ptr<Group> group;
  std::vector<Call> calls;  // by rank
  std::set<int> arrived;
  bool stuck = false, wrong = false, done = false;

  float sum(size_t at) const {
    float sum = 0;
    for (const Call& call : calls) sum += call.from[at];
    return sum;
  }
  void work() {
    const size_t count = calls.front().count;
    for (const Call& call : calls) {
      const auto rank = static_cast<size_t>(call.member->rank);
      switch (call.kind) {
        case Kind::kAllReduce:
          for (size_t i = 0; i < count; ++i) call.to[i] = sum(i);
          break;
        case Kind::kAllGather:
          for (const Call& other : calls)
            std::copy_n(other.from, count, call.to + count * static_cast<size_t>(other.member->rank));
          break;
        case Kind::kReduceScatter:
          for (size_t i = 0; i < count; ++i) call.to[i] = sum(rank * count + i);
          break;
        case Kind::kBroadcast: std::copy_n(calls[static_cast<size_t>(call.root)].from, count, call.to); break;
      }
    }
    if (wrong) calls.back().to[count - 1] += 1;
    done = true;
  }
  // A GPU comes to its part.
  int arrive(int rank) {
    if (group->aborted) return cuda::kSuccess;
    arrived.insert(rank);
    if (!done && !stuck && static_cast<int>(arrived.size()) == group->size) work();
    return done ? cuda::kSuccess : cuda::kNotReady;
  }
};

thread_local int depth = 0;
thread_local std::vector<Call> calls_of_group;

bool on_gpu(const Call& call) {
  const auto ranks = static_cast<size_t>(call.member->group->size);
  const size_t sent = call.kind == Kind::kReduceScatter ? ranks * call.count : call.count;
  const size_t received = call.kind == Kind::kAllGather ? ranks * call.count : call.count;
  auto* holds = driver<bool(int, const void*, size_t)>("fakeCudaHolds");
  return holds(call.member->device, call.from, sent * sizeof(float)) &&
         holds(call.member->device, call.to, received * sizeof(float));
}

// Queues one operation, of which every GPU has its call.
int begin(std::vector<Call> calls) {
  auto meeting = std::make_shared<Meeting>();
  meeting->group = calls.front().member->group;
  Group& group = *meeting->group;
  if (static_cast<int>(calls.size()) != group.size) return kInvalidUsage;  // the real one waits for ever
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.member->rank < b.member->rank; });
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (call.member->rank != static_cast<int>(i) || call.kind != calls[0].kind || call.count != calls[0].count)
      return kInvalidUsage;
    if (!on_gpu(call)) return kInvalidArgument;
  }
  const int operation = group.operations++;
  int code = kSuccess;
  if (due("async_error_after", operation, &code)) group.error = code;
  meeting->stuck = code != kSuccess || due("stuck_after", operation);
  meeting->wrong = due("wrong_after", operation);
  meeting->calls = std::move(calls);
  auto* queue = driver<int(int, void*, const std::function<int()>*)>("fakeCudaQueue");
  for (const Call& call : meeting->calls) {
    const std::function<int()> part = [meeting, rank = call.member->rank] { return meeting->arrive(rank); };
    if (queue(call.member->device, call.stream, &part) != cuda::kSuccess) return kUnhandledCudaError;
  }
  return kSuccess;
}

int collect(Call call, const char* function) {
  if (int code = outcome(function); code != kSuccess) return code;
  if (call.member->group->aborted) return kInvalidUsage;
  if (depth == 0) return begin({call});
  calls_of_group.push_back(call);
  return kSuccess;
}

int leave(Communicator communicator) {
  delete static_cast<Member*>(communicator);
  return kSuccess;
}

#ifndef FAKE_NCCL_ANCIENT
// Calls of it that never returned may still use it: it stays.
int abort(Communicator communicator) {
  static std::mutex mutex;
  static auto& aborted = *new std::vector<std::unique_ptr<Member>>;
  std::lock_guard lock(mutex);
  aborted.emplace_back(static_cast<Member*>(communicator))->group->aborted = true;
  return kSuccess;
}
#endif

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT int ncclGetVersion(int* version) {
  *version =
      ridge::fake::says(script(), "version") ? static_cast<int>(ridge::fake::number_of(script(), "version")) : 23203;
  return outcome("ncclGetVersion");
}
EXPORT const char* ncclGetErrorString(int code) {
  switch (code) {
    case kSuccess: return "no error";
    case kUnhandledCudaError: return "unhandled cuda error";
    case kSystemError: return "unhandled system error";
    case kInvalidUsage: return "invalid usage";
    case kRemoteError: return "remote process exited or there was a network error";
    default: return "an error";
  }
}
EXPORT const char* ncclGetLastError(Communicator) { return ""; }
EXPORT int ncclCommInitAll(Communicator* communicators, int count, const int* devices) {
  if (int code = outcome("ncclCommInitAll"); code != kSuccess) return code;
  int known = 0;
  driver<int(int*)>("cuDeviceGetCount")(&known);
  if (std::set<int>(devices, devices + count).size() != static_cast<size_t>(count)) return kInvalidUsage;
  if (std::any_of(devices, devices + count, [&](int device) { return device < 0 || device >= known; }))
    return kInvalidArgument;
  auto group = std::make_shared<Group>();
  group->size = count;
  for (int i = 0; i < count; ++i) communicators[i] = new Member{group, i, devices[i]};
  return kSuccess;
}
EXPORT int ncclCommDestroy(Communicator communicator) {
  int code = outcome("ncclCommDestroy");
  return code == kSuccess ? leave(communicator) : code;
}
#ifndef FAKE_NCCL_ANCIENT
EXPORT int ncclCommAbort(Communicator communicator) {
  int code = outcome("ncclCommAbort");
  return code == kSuccess ? abort(communicator) : code;
}
#endif
EXPORT int ncclCommGetAsyncError(Communicator communicator, int* error) {
  *error = static_cast<Member*>(communicator)->group->error;
  return outcome("ncclCommGetAsyncError");
}
EXPORT int ncclGroupStart() {
  ++depth;
  return outcome("ncclGroupStart");
}
EXPORT int ncclGroupEnd() {
  if (--depth > 0) return kSuccess;
  std::vector<Call> calls = std::exchange(calls_of_group, {});
  if (int code = outcome("ncclGroupEnd"); code != kSuccess) return code;
  return calls.empty() ? int{kSuccess} : begin(std::move(calls));
}
EXPORT int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, Communicator communicator,
                         Stream stream) {
  if (type != kFloat32 || operation != kSum) return kInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kAllReduce, static_cast<const float*>(from),
                  static_cast<float*>(to), count, 0, stream},
                 "ncclAllReduce");
}
EXPORT int ncclAllGather(const void* from, void* to, size_t count, int type, Communicator communicator, Stream stream) {
  if (type != kFloat32) return kInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kAllGather, static_cast<const float*>(from),
                  static_cast<float*>(to), count, 0, stream},
                 "ncclAllGather");
}
EXPORT int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation,
                             Communicator communicator, Stream stream) {
  if (type != kFloat32 || operation != kSum) return kInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kReduceScatter, static_cast<const float*>(from),
                  static_cast<float*>(to), count, 0, stream},
                 "ncclReduceScatter");
}
EXPORT int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Communicator communicator,
                         Stream stream) {
  if (type != kFloat32) return kInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kBroadcast, static_cast<const float*>(from),
                  static_cast<float*>(to), count, root, stream},
                 "ncclBroadcast");
}

}  // extern "C"
