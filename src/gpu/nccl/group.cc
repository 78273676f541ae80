#include "gpu/nccl/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <thread>

#include "gpu/cuda/memory.h"
#include "gpu/cuda/stream.h"
#include "gpu/nccl/abi.h"

namespace ridge::gpu::nccl {
namespace {

constexpr std::chrono::seconds kMostForAborting{5};
constexpr std::byte kSpoiled{0xFF};  // four of them: a NaN

void* pointer_to(const cuda::CudaMemory& memory) { return reinterpret_cast<void*>(memory.address()); }

}  // namespace

struct NcclGroup::State {
  struct Member {
    cuda::CudaContext context;
    cuda::CudaStream stream;
    cuda::CudaMemory from, to;
    nccl::Communicator communicator = nullptr;
  };
  std::shared_ptr<const nccl::Library> library;
  std::vector<Member> members;
  Nanoseconds patience{};
  std::atomic<bool> aborted = false;

  Status check(const char* function, int code) const { return nccl_status(*library, function, code); }
  Status join();
  Status queue(Collective collective, size_t bytes);
  Status queue(const Member& member, Collective collective, size_t bytes);
  Status wait();
  Status time(Collective collective, size_t bytes, int64_t repeats, double& seconds);
  Status leave();
};

Status NcclGroup::State::join() {
  std::vector<int> devices;
  for (const Member& member : members) devices.push_back(member.context.device());
  std::vector<nccl::Communicator> communicators(members.size());
  RIDGE_TRY(check("ncclCommInitAll",
                  library->ncclCommInitAll(communicators.data(), static_cast<int>(devices.size()), devices.data())));
  for (size_t i = 0; i < members.size(); ++i) members[i].communicator = communicators[i];
  return {};
}

Status NcclGroup::State::queue(const Member& member, Collective collective, size_t bytes) {
  const size_t count = bytes / sizeof(float), share = count / members.size();
  const void* from = pointer_to(member.from);
  void *to = pointer_to(member.to), *stream = member.stream.handle();
  const nccl::Communicator within = member.communicator;
  switch (collective) {
    case Collective::kAllReduce:
      return check("ncclAllReduce",
                   library->ncclAllReduce(from, to, count, nccl::kFloat32, nccl::kSum, within, stream));
    case Collective::kAllGather:
      return check("ncclAllGather", library->ncclAllGather(from, to, share, nccl::kFloat32, within, stream));
    case Collective::kReduceScatter:
      return check("ncclReduceScatter",
                   library->ncclReduceScatter(from, to, share, nccl::kFloat32, nccl::kSum, within, stream));
    default: return check("ncclBroadcast", library->ncclBroadcast(from, to, count, nccl::kFloat32, 0, within, stream));
  }
}

// One thread drives several GPUs: their calls form a group (NCCL user guide, "Group Calls"), which is always ended.
Status NcclGroup::State::queue(Collective collective, size_t bytes) {
  RIDGE_TRY(check("ncclGroupStart", library->ncclGroupStart()));
  Status queued;
  for (const Member& member : members)
    if (queued) queued = queue(member, collective, bytes);
  Status ended = check("ncclGroupEnd", library->ncclGroupEnd());
  return queued ? ended : queued;
}

// Waits like NCCL's own tests: polls streams and communicators. An operation that a GPU does not join never ends.
Status NcclGroup::State::wait() {
  for (bool all = false; !all;) {
    all = true;
    for (const Member& member : members) {
      if (aborted) return Error{Code::kCancelled, "the operation was aborted"};
      RIDGE_ASSIGN(const bool passed, member.stream.passed());
      all = all && passed;
      int outcome = nccl::kSuccess;
      RIDGE_TRY(check("ncclCommGetAsyncError", library->ncclCommGetAsyncError(member.communicator, &outcome)));
      if (outcome != nccl::kInProgress) RIDGE_TRY(check("the operation on the GPUs", outcome));
    }
    if (!all) std::this_thread::yield();
  }
  return {};
}

Status NcclGroup::State::time(Collective collective, size_t bytes, int64_t repeats, double& seconds) {
  const TimePoint begin = SteadyClock::now();
  for (int64_t i = 0; i < repeats; ++i) RIDGE_TRY(queue(collective, bytes));
  RIDGE_TRY(wait());
  seconds = to_seconds(SteadyClock::now() - begin);
  return {};
}

// A communicator is unusable after either.
Status NcclGroup::State::leave() {
  for (const Member& member : members)
    if (aborted)
      RIDGE_TRY(check("ncclCommAbort", library->ncclCommAbort(member.communicator)));
    else
      RIDGE_TRY(check("ncclCommDestroy", library->ncclCommDestroy(member.communicator)));
  return {};
}

NcclGroup::NcclGroup(std::shared_ptr<State> state) : state_(std::move(state)) {}
NcclGroup::NcclGroup(NcclGroup&& other) noexcept = default;
NcclGroup& NcclGroup::operator=(NcclGroup&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(joined_, other.joined_);
  std::swap(broken_, other.broken_);
  return *this;
}

NcclGroup::~NcclGroup() {
  if (!state_ || !joined_ || broken_) return;
  BoundedThread leaving([state = state_](const std::stop_token&) { return state->leave(); });
  leaving.outcome(state_->patience);
}

Result<NcclGroup> NcclGroup::create(const Nccl& nccl, const std::vector<cuda::CudaContext>& gpus, size_t buffer_bytes,
                                    Nanoseconds patience) {
  assert(!gpus.empty());
  auto state = std::make_shared<State>();
  state->library = nccl.library();
  state->patience = patience;
  for (const cuda::CudaContext& gpu : gpus) {
    State::Member& member = state->members.emplace_back();
    member.context = gpu;
    RIDGE_ASSIGN(member.stream, cuda::CudaStream::create(gpu));
    RIDGE_ASSIGN(member.from, cuda::CudaMemory::allocate(gpu, buffer_bytes));
    RIDGE_ASSIGN(member.to, cuda::CudaMemory::allocate(gpu, buffer_bytes));
  }
  NcclGroup group(state);
  RIDGE_TRY(group.within_patience("ncclCommInitAll", [state] { return state->join(); }));
  group.joined_ = true;
  return group;
}

Status NcclGroup::within_patience(std::string_view doing, std::function<Status()> call) {
  if (broken_) return *broken_;
  BoundedThread made([call = std::move(call)](const std::stop_token&) { return call(); });
  std::optional<Status> outcome = made.outcome(state_->patience);
  if (outcome && *outcome) return {};
  broken_ = outcome
                ? outcome->error()
                : Error{Code::kTimeout,
                        fmt::format("{} did not end within {:.3g} s and was aborted; look for XID lines in the kernel "
                                    "log and at `ridge explain nccl-hang`; NCCL_DEBUG=INFO in the environment makes "
                                    "NCCL log its progress",
                                    doing, to_seconds(state_->patience))};
  abort(made);
  return *broken_;
}

// A thread waiting in our code stops at once, without touching a communicator. One hanging in the library returns when its
// communicators are aborted (NCCL user guide, "Fault Tolerance"), as do the GPUs' kernels.
void NcclGroup::abort(BoundedThread& call) {
  const Nanoseconds patience = std::min<Nanoseconds>(state_->patience, kMostForAborting);
  state_->aborted = true;
  call.outcome(patience);
  if (!joined_) return;
  BoundedThread aborting([state = state_](const std::stop_token&) { return state->leave(); });
  aborting.outcome(patience);
  call.outcome(patience);
}

size_t NcclGroup::size() const { return state_->members.size(); }
size_t NcclGroup::buffer_bytes() const { return state_->members.front().from.size(); }

Result<double> NcclGroup::run(Collective collective, size_t bytes, int64_t repeats) {
  assert(bytes <= buffer_bytes() && bytes % sizeof(float) == 0);
  auto seconds = std::make_shared<double>(0);
  auto call = [state = state_, seconds, collective, bytes, repeats] {
    return state->time(collective, bytes, repeats, *seconds);
  };
  RIDGE_TRY(within_patience(collective_name(collective), call));
  return *seconds;
}

Status NcclGroup::fill(size_t gpu, std::span<const float> values, size_t bytes) {
  State::Member& member = state_->members[gpu];
  const std::span<const std::byte> content = std::as_bytes(values);
  RIDGE_ASSIGN(const cuda::CudaMemory block,
               cuda::CudaMemory::allocate(member.context, content.size(), MemoryKind::kPinned));
  std::ranges::copy(content, block.bytes().begin());
  for (size_t at = 0; at < bytes; at += content.size())
    RIDGE_TRY(member.stream.write(member.from, block.bytes().first(std::min(content.size(), bytes - at)), at));
  return member.stream.synchronize();
}

Status NcclGroup::spoil(size_t gpu) {
  State::Member& member = state_->members[gpu];
  RIDGE_TRY(member.stream.fill(member.to, kSpoiled));
  return member.stream.synchronize();
}

Status NcclGroup::read(size_t gpu, std::span<float> values, size_t at) const {
  return state_->members[gpu].to.read(std::as_writable_bytes(values), at);
}

}  // namespace ridge::gpu::nccl
