// A fake of NCCL that reduces, gathers, scatters and broadcasts over the memory of the fake driver (fake_cuda.cc): a GPU's part
// of an operation waits in its stream until every GPU has reached its own, and the last one does the work. Code that forgets to
// wait for one of them sees old values. Loaded by RIDGE_NCCL=<this file>.
// RIDGE_FAKE_NCCL names a script (scripted_gpus.h) of `fail` lines with NCCL codes, `hang` lines, and
//   version 22803
//   stuck_after 3              the fourth operation never ends, until it is aborted
//   async_error_after 3 6      likewise, and the communicator returns that code
//   wrong_after 3              the fourth operation and all later ones compute wrong results
// With FAKE_NCCL_ANCIENT defined it is older than 2.4.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "fake_driver.h"
#include "scripted_gpus.h"

namespace {

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

const ridge::fake::Part& script() { return ridge::fake::script_of("RIDGE_FAKE_NCCL").system; }
ncclResult_t outcome(const char* function) { return ridge::fake::outcome(script(), function, ncclSuccess); }

// Whether a scripted effect begins after this many operations, and has begun.
bool due(const char* key, int operation, ncclResult_t* code = nullptr) {
  std::istringstream words(ridge::fake::text_of(script(), key));
  int after = 0, given = 0;
  if (!(words >> after) || operation < after) return false;
  if (words >> given && code != nullptr) *code = static_cast<ncclResult_t>(given);
  return true;
}

struct Group {
  int size = 0;
  std::atomic<int> operations = 0;
  std::atomic<bool> aborted = false;
  std::atomic<ncclResult_t> error = ncclSuccess;
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
  size_t count;  // as in the function
  int root;
  CUstream stream;
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
  // A GPU reaches its part.
  CUresult arrive(int rank) {
    if (group->aborted) return CUDA_SUCCESS;
    arrived.insert(rank);
    if (!done && !stuck && static_cast<int>(arrived.size()) == group->size) work();
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }
};

thread_local int depth = 0;
thread_local std::vector<Call> calls_of_group;

bool on_gpu(const Call& call) {
  const auto ranks = static_cast<size_t>(call.member->group->size);
  const size_t sent = call.kind == Kind::kReduceScatter ? ranks * call.count : call.count;
  const size_t received = call.kind == Kind::kAllGather ? ranks * call.count : call.count;
  auto* holds = DRIVER(fakeCudaHolds);
  return holds(call.member->device, call.from, sent * sizeof(float)) &&
         holds(call.member->device, call.to, received * sizeof(float));
}

// Queues one operation; every GPU makes its call.
ncclResult_t begin(std::vector<Call> calls) {
  auto meeting = std::make_shared<Meeting>();
  meeting->group = calls.front().member->group;
  Group& group = *meeting->group;
  if (static_cast<int>(calls.size()) != group.size) return ncclInvalidUsage;  // the real one waits forever
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.member->rank < b.member->rank; });
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (call.member->rank != static_cast<int>(i) || call.kind != calls[0].kind || call.count != calls[0].count)
      return ncclInvalidUsage;
    if (!on_gpu(call)) return ncclInvalidArgument;
  }
  const int operation = group.operations++;
  ncclResult_t code = ncclSuccess;
  if (due("async_error_after", operation, &code)) group.error = code;
  meeting->stuck = code != ncclSuccess || due("stuck_after", operation);
  meeting->wrong = due("wrong_after", operation);
  meeting->calls = std::move(calls);
  auto* queue = DRIVER(fakeCudaQueue);
  for (const Call& call : meeting->calls) {
    const std::function<CUresult()> part = [meeting, rank = call.member->rank] { return meeting->arrive(rank); };
    if (queue(call.member->device, call.stream, &part) != CUDA_SUCCESS) return ncclUnhandledCudaError;
  }
  return ncclSuccess;
}

ncclResult_t collect(Call call, const char* function) {
  if (ncclResult_t code = outcome(function); code != ncclSuccess) return code;
  if (call.member->group->aborted) return ncclInvalidUsage;
  if (depth == 0) return begin({call});
  calls_of_group.push_back(call);
  return ncclSuccess;
}

ncclResult_t leave(ncclComm_t communicator) {
  delete static_cast<Member*>(communicator);
  return ncclSuccess;
}

#ifndef FAKE_NCCL_ANCIENT
// Calls that never returned may still use it: never freed.
ncclResult_t abort(ncclComm_t communicator) {
  static std::mutex mutex;
  static auto& aborted = *new std::vector<std::unique_ptr<Member>>;
  std::lock_guard lock(mutex);
  aborted.emplace_back(static_cast<Member*>(communicator))->group->aborted = true;
  return ncclSuccess;
}
#endif

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT ncclResult_t ncclGetVersion(int* version) {
  *version =
      ridge::fake::says(script(), "version") ? static_cast<int>(ridge::fake::number_of(script(), "version")) : 23203;
  return outcome("ncclGetVersion");
}
EXPORT const char* ncclGetErrorString(ncclResult_t code) {
  switch (code) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    default: return "an error";
  }
}
EXPORT const char* ncclGetLastError(ncclComm_t) { return ""; }
EXPORT ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int count, const int* devices) {
  if (ncclResult_t code = outcome("ncclCommInitAll"); code != ncclSuccess) return code;
  int known = 0;
  DRIVER(cuDeviceGetCount)(&known);
  if (std::set<int>(devices, devices + count).size() != static_cast<size_t>(count)) return ncclInvalidUsage;
  if (std::any_of(devices, devices + count, [&](int device) { return device < 0 || device >= known; }))
    return ncclInvalidArgument;
  auto group = std::make_shared<Group>();
  group->size = count;
  for (int i = 0; i < count; ++i) communicators[i] = new Member{group, i, devices[i]};
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  ncclResult_t code = outcome("ncclCommDestroy");
  return code == ncclSuccess ? leave(communicator) : code;
}
#ifndef FAKE_NCCL_ANCIENT
EXPORT ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  ncclResult_t code = outcome("ncclCommAbort");
  return code == ncclSuccess ? abort(communicator) : code;
}
#endif
EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  *error = static_cast<Member*>(communicator)->group->error;
  return outcome("ncclCommGetAsyncError");
}
EXPORT ncclResult_t ncclGroupStart() {
  ++depth;
  return outcome("ncclGroupStart");
}
EXPORT ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  std::vector<Call> calls = std::exchange(calls_of_group, {});
  if (ncclResult_t code = outcome("ncclGroupEnd"); code != ncclSuccess) return code;
  return calls.empty() ? ncclSuccess : begin(std::move(calls));
}
EXPORT ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                                  ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat32 || operation != ncclSum) return ncclInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kAllReduce, static_cast<const float*>(from),
                  static_cast<float*>(to), count, 0, stream},
                 "ncclAllReduce");
}
EXPORT ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                                  ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat32) return ncclInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kAllGather, static_cast<const float*>(from),
                  static_cast<float*>(to), count, 0, stream},
                 "ncclAllGather");
}
EXPORT ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                                      ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat32 || operation != ncclSum) return ncclInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kReduceScatter, static_cast<const float*>(from),
                  static_cast<float*>(to), count, 0, stream},
                 "ncclReduceScatter");
}
EXPORT ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                                  ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat32) return ncclInvalidArgument;
  return collect({static_cast<Member*>(communicator), Kind::kBroadcast, static_cast<const float*>(from),
                  static_cast<float*>(to), count, root, stream},
                 "ncclBroadcast");
}

}  // extern "C"
