#include "gpu/cuda/cublaslt.h"

#include <fmt/format.h>

#include <cassert>
#include <optional>
#include <vector>

#include "gpu/cuda/cublaslt_abi.h"

namespace ridge::gpu::cuda {

using cublaslt::Handle;

struct CublasLt::State {
  CudaContext context;
  std::unique_ptr<cublaslt::Library> library;
  CudaHandle<Handle> handle;
};

// cuBLASLt's types for a precision.
struct GemmTypes {
  cublaslt::DataType input, result, scale;  // scale: of alpha and beta
  cublaslt::ComputeType compute;
};

namespace {

constexpr int kMostCandidates = 8;

Status cublas_status(const cublaslt::Library& library, const char* function, int code) {
  if (code == cublaslt::kSuccess) return {};
  const char* words = library.cublasLtGetStatusString ? library.cublasLtGetStatusString(code) : nullptr;
  std::string message = fmt::format("{}: {} (cuBLAS status {})", function, words ? words : "no text", code);
  if (code == cublaslt::kNotSupported || code == cublaslt::kArchitectureMismatch)
    return Error{Code::kUnsupported, message};
  if (code == cublaslt::kAllocationFailed) return Error{Code::kExhausted, message};
  if (code == cublaslt::kNotInitialized)
    return Error{Code::kUnavailable,
                 message + "; the library did not start: it needs a driver for its own CUDA or a later one"};
  return Error{Code::kFailed, message};
}

// Source: cuBLAS documentation, cublasLtMatmul(), tables of supported types.
GemmTypes types_of(const GemmProblem& problem) {
  using namespace cublaslt;
  const DataType wide = kFloat32;
  switch (problem.precision) {
    case Precision::kFp64: return {kFloat64, kFloat64, kFloat64, kCompute64F};
    case Precision::kFp32: return {kFloat32, kFloat32, kFloat32, kCompute32F};
    case Precision::kTf32: return {kFloat32, kFloat32, kFloat32, kCompute32FFastTf32};
    case Precision::kFp16: return {kFloat16, problem.wide_result ? wide : kFloat16, kFloat32, kCompute32F};
    case Precision::kBf16: return {kBFloat16, problem.wide_result ? wide : kBFloat16, kFloat32, kCompute32F};
    case Precision::kFp8: return {kFloat8E4M3, problem.wide_result ? wide : kBFloat16, kFloat32, kCompute32F};
    case Precision::kInt8: return {kInt8, kInt32, kInt32, kCompute32I};
    default: return {};
  }
}

// alpha and beta, in the scale type of the multiplication.
struct Scale {
  double f64;
  float f32;
  int32_t i32;
  const void* as(cublaslt::DataType type) const {
    if (type == cublaslt::kFloat64) return &f64;
    return type == cublaslt::kInt32 ? static_cast<const void*>(&i32) : &f32;
  }
};
constexpr Scale kOne{1, 1, 1}, kZero{0, 0, 0};

}  // namespace

struct CublasLtGemm::State {
  std::shared_ptr<const CublasLt::State> owner;
  GemmProblem problem;
  GemmTypes types{};
  CudaHandle<Handle> description, first, second, result;  // the library's first and second factor are b and a
  CudaMemory workspace, scale;                            // scale: a one, for FP8
  std::vector<cublaslt::HeuristicResult> candidates;
  size_t chosen = 0;

  const cublaslt::Library& library() const { return *owner->library; }
  Status check(const char* function, int code) const { return cublas_status(library(), function, code); }
  template <typename T>
  Status set(cublaslt::DescriptionAttribute attribute, T value) const {
    return check("cublasLtMatmulDescSetAttribute",
                 library().cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value));
  }
  Result<CudaHandle<Handle>> layout(cublaslt::DataType type, int64_t rows, int64_t columns) const;
  Status describe();
  Status add_scale();
  Status find_candidates(size_t workspace_bytes);
  Status queue(const CudaStream& stream, uint64_t a, uint64_t b, uint64_t d, size_t candidate) const;
};

// Column by column without gaps.
Result<CudaHandle<Handle>> CublasLtGemm::State::layout(cublaslt::DataType type, int64_t rows, int64_t columns) const {
  Handle made = nullptr;
  RIDGE_TRY(
      check("cublasLtMatrixLayoutCreate", library().cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows),
                                                                               static_cast<uint64_t>(columns), rows)));
  return CudaHandle<Handle>(owner->context, made, library().cublasLtMatrixLayoutDestroy);
}

// The library is column-major: row-major data is the transposed matrix to it, and dᵀ = bᵀ · aᵀ. So b is its first
// factor, as stored (n × k) or, if column-major, transposed (k × n); a is its second (k × m), d its result (n × m).
Status CublasLtGemm::State::describe() {
  Handle made = nullptr;
  RIDGE_TRY(check("cublasLtMatmulDescCreate", library().cublasLtMatmulDescCreate(&made, types.compute, types.scale)));
  description = CudaHandle<Handle>(owner->context, made, library().cublasLtMatmulDescDestroy);
  if (problem.b_by_columns) {
    RIDGE_TRY(set(cublaslt::kTransposeA, cublaslt::kTransposed));
    RIDGE_ASSIGN(first, layout(types.input, problem.k, problem.n));
  } else {
    RIDGE_ASSIGN(first, layout(types.input, problem.n, problem.k));
  }
  RIDGE_ASSIGN(second, layout(types.input, problem.k, problem.m));
  RIDGE_ASSIGN(result, layout(types.result, problem.n, problem.m));
  return {};
}

// FP8 values have a scale factor on the GPU; here 1. Sums stay in the tensor cores' own width, as usual for FP8.
Status CublasLtGemm::State::add_scale() {
  const float one = 1;
  RIDGE_ASSIGN(scale, CudaMemory::allocate(owner->context, sizeof one));
  RIDGE_TRY(scale.write(std::as_bytes(std::span(&one, 1))));
  const uint64_t address = scale.address();
  RIDGE_TRY(set(cublaslt::kScalePointerA, address));
  RIDGE_TRY(set(cublaslt::kScalePointerB, address));
  return set(cublaslt::kFastAccumulation, int8_t{1});
}

Status CublasLtGemm::State::find_candidates(size_t workspace_bytes) {
  Handle made = nullptr;
  RIDGE_TRY(check("cublasLtMatmulPreferenceCreate", library().cublasLtMatmulPreferenceCreate(&made)));
  CudaHandle<Handle> preference(owner->context, made, library().cublasLtMatmulPreferenceDestroy);
  const uint64_t most = workspace_bytes;
  RIDGE_TRY(check("cublasLtMatmulPreferenceSetAttribute",
                  library().cublasLtMatmulPreferenceSetAttribute(preference.get(), cublaslt::kMostWorkspaceBytes, &most,
                                                                 sizeof most)));
  candidates.resize(kMostCandidates);
  int found = 0;
  Status asked = check("cublasLtMatmulAlgoGetHeuristic",
                       library().cublasLtMatmulAlgoGetHeuristic(
                           owner->handle.get(), description.get(), first.get(), second.get(), result.get(),
                           result.get(), preference.get(), kMostCandidates, candidates.data(), &found));
  if (!asked && asked.error().code != Code::kUnsupported) return asked;
  candidates.resize(asked ? static_cast<size_t>(found) : 0);
  std::erase_if(candidates, [](const auto& one) { return one.state != cublaslt::kSuccess; });
  if (!candidates.empty()) return {};
  return Error{Code::kUnsupported, fmt::format("cuBLASLt has no product of {} × {} × {} in {}{} for this GPU",
                                               problem.m, problem.n, problem.k, precision_name(problem.precision),
                                               problem.b_by_columns ? "" : " with b row by row")};
}

Status CublasLtGemm::State::queue(const CudaStream& stream, uint64_t a, uint64_t b, uint64_t d,
                                  size_t candidate) const {
  RIDGE_TRY(owner->context.use());
  auto on_gpu = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  return check("cublasLtMatmul",
               library().cublasLtMatmul(owner->handle.get(), description.get(), kOne.as(types.scale), on_gpu(b),
                                        first.get(), on_gpu(a), second.get(), kZero.as(types.scale), on_gpu(d),
                                        result.get(), on_gpu(d), result.get(), &candidates[candidate].algorithm,
                                        on_gpu(workspace.address()), workspace.size(), stream.handle()));
}

CublasLtGemm::CublasLtGemm(std::unique_ptr<State> state) : state_(std::move(state)) {}
CublasLtGemm::CublasLtGemm(CublasLtGemm&& other) noexcept = default;
CublasLtGemm& CublasLtGemm::operator=(CublasLtGemm&& other) noexcept = default;
CublasLtGemm::~CublasLtGemm() = default;

size_t CublasLtGemm::candidates() const { return state_->candidates.size(); }
size_t CublasLtGemm::chosen() const { return state_->chosen; }

Status CublasLtGemm::queue(const CudaStream& stream, const CudaMemory& a, const CudaMemory& b, CudaMemory& d) const {
  [[maybe_unused]] const GemmBytes needed = bytes(state_->problem);
  assert(a.size() >= needed.a && b.size() >= needed.b && d.size() >= needed.d);
  return state_->queue(stream, a.address(), b.address(), d.address(), state_->chosen);
}

Result<double> CublasLtGemm::keep_fastest(const CudaStream& stream, const CudaMemory& a, const CudaMemory& b,
                                          CudaMemory& d, int repeats) {
  RIDGE_ASSIGN(CudaEvent begin, CudaEvent::create(stream.context()));
  RIDGE_ASSIGN(CudaEvent end, CudaEvent::create(stream.context()));
  std::optional<double> least;
  for (size_t candidate = 0; candidate < state_->candidates.size(); ++candidate) {
    auto again = [&] { return state_->queue(stream, a.address(), b.address(), d.address(), candidate); };
    Status warm = again();  // its code is loaded
    if (!warm && warm.error().code == Code::kUnsupported) continue;
    RIDGE_TRY(warm);
    RIDGE_TRY(stream.record(begin));
    for (int i = 0; i < repeats; ++i) RIDGE_TRY(again());
    RIDGE_TRY(stream.record(end));
    RIDGE_TRY(stream.synchronize());
    RIDGE_ASSIGN(double seconds, end.seconds_since(begin));
    if (least && seconds >= *least) continue;
    least = seconds;
    state_->chosen = candidate;
  }
  if (!least) return Error{Code::kUnsupported, "cuBLASLt runs none of its own candidates on this GPU"};
  return *least / repeats;
}

Result<CublasLt> CublasLt::open(const CudaContext& context, const std::string& path, int newest) {
  std::vector<std::string> names = {"libcublasLt.so.11"};
  for (int major : {12, 13})
    if (major <= newest) names.insert(names.begin(), fmt::format("libcublasLt.so.{}", major));
  auto state = std::make_shared<State>();
  state->context = context;
  RIDGE_ASSIGN(state->library, open_table<cublaslt::Library>(path, "RIDGE_CUBLASLT", names, "cuBLASLt",
                                                             {"nvidia/cu13/lib", "nvidia/cublas/lib"}));
  // It registers kernels with the driver, which must not outlive its code.
  state->library->file.leak();
  RIDGE_TRY(context.use());
  Handle handle = nullptr;
  RIDGE_TRY(cublas_status(*state->library, "cublasLtCreate", state->library->cublasLtCreate(&handle)));
  state->handle = CudaHandle<Handle>(context, handle, state->library->cublasLtDestroy);
  CublasLt opened;
  opened.state_ = std::move(state);
  return opened;
}

// cuBLAS 11 and 12: 120103 is 12.1.3; 13: 130401 is 13.4.1.
std::string CublasLt::version() const {
  const size_t number = state_->library->cublasLtGetVersion();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Result<CublasLtGemm> CublasLt::plan(const GemmProblem& problem, size_t workspace_bytes) const {
  if (problem.m < 1 || problem.n < 1 || problem.k < 1)
    return invalid(fmt::format("a matrix multiplication of {} × {} × {}: each size must be at least 1", problem.m,
                               problem.n, problem.k));
  RIDGE_TRY(state_->context.use());
  auto made = std::make_unique<CublasLtGemm::State>();
  made->owner = state_;
  made->problem = problem;
  made->types = types_of(problem);
  RIDGE_TRY(made->describe());
  if (problem.precision == Precision::kFp8) RIDGE_TRY(made->add_scale());
  RIDGE_TRY(made->find_candidates(workspace_bytes));
  RIDGE_ASSIGN(made->workspace, CudaMemory::allocate(state_->context, workspace_bytes));
  return CublasLtGemm(std::move(made));
}

}  // namespace ridge::gpu::cuda
