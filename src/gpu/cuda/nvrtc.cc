#include "gpu/cuda/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "gpu/cuda/nvrtc_abi.h"

namespace ridge::gpu::cuda {
namespace {

Error nvrtc_error(const nvrtc::Library& library, const char* function, int code) {
  const char* words = library.nvrtcGetErrorString(code);
  return {Code::kFailed, fmt::format("{}: {} (NVRTC code {})", function, words ? words : "unknown error", code)};
}

// One program of the library, destroyed with its owner.
class OwnedProgram {
 public:
  OwnedProgram(const nvrtc::Library& library, nvrtc::Program program) : library_(library), program_(program) {}
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  ~OwnedProgram() { library_.nvrtcDestroyProgram(&program_); }

  int compile(const std::vector<std::string>& options) const {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return library_.nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
  }
  // One of the program's results, by its pair of functions for size and content.
  template <typename Size, typename Content>
  Result<std::string> take(const Size& size_of, const Content& content_of) const {
    size_t size = 0;
    if (int code = size_of(program_, &size); code != nvrtc::kSuccess)
      return nvrtc_error(library_, size_of.name(), code);
    std::string text(size, '\0');
    if (int code = size > 0 ? content_of(program_, text.data()) : nvrtc::kSuccess; code != nvrtc::kSuccess)
      return nvrtc_error(library_, content_of.name(), code);
    return text;
  }
  Result<std::string> take_text(const auto& size_of, const auto& content_of) const {
    RIDGE_ASSIGN(std::string text, take(size_of, content_of));
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

 private:
  const nvrtc::Library& library_;
  nvrtc::Program program_;
};

// The number before `unit` in a line such as "Used 13 registers, 1024 bytes smem"; 0 if the unit is missing.
int number_before(std::string_view line, std::string_view unit) {
  size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = line.find_last_not_of("0123456789", at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  return static_cast<int>(std::strtol(std::string(line.substr(begin, at - begin)).c_str(), nullptr, 10));
}

// The text between the first pair of quotes.
std::string text_in_quotes(std::string_view line) {
  size_t begin = line.find('\''), end = line.find('\'', begin + 1);
  return begin == std::string_view::npos || end == std::string_view::npos
             ? ""
             : std::string(line.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::vector<CudaKernelUse> kernel_uses(const std::string& log) {
  std::vector<CudaKernelUse> kernels;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Compiling entry function") != std::string::npos) {
      kernels.push_back({text_in_quotes(line)});
    } else if (!kernels.empty() && line.find("bytes stack frame") != std::string::npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_bytes = number_before(line, " bytes spill stores");
    } else if (!kernels.empty() && line.find("Used ") != std::string::npos) {
      kernels.back().registers = number_before(line, " registers");
      kernels.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

Nvrtc::Nvrtc(std::unique_ptr<nvrtc::Library> library) : library_(std::move(library)) {}
Nvrtc::Nvrtc(Nvrtc&& other) noexcept = default;
Nvrtc& Nvrtc::operator=(Nvrtc&& other) noexcept = default;
Nvrtc::~Nvrtc() = default;

Result<Nvrtc> Nvrtc::open(const std::string& path, int newest) {
  std::vector<std::string> names = {"libnvrtc.so.11.2"};
  for (int major : {12, 13})
    if (major <= newest) names.insert(names.begin(), fmt::format("libnvrtc.so.{}", major));
  RIDGE_ASSIGN(auto library, open_table<nvrtc::Library>(path, "RIDGE_NVRTC", names, "NVIDIA's run-time compiler",
                                                        {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}));
  // NVRTC of CUDA 13.0 (13.0.48, 13.0.88) has no run path: its first compilation would not find this part.
  open_beside(library->file, "libnvrtc-builtins.so");
  library->file.leak();  // unloading does not free its allocations
  int major = 0, minor = 0, count = 0;
  if (int code = library->nvrtcVersion(&major, &minor); code != nvrtc::kSuccess)
    return nvrtc_error(*library, "nvrtcVersion", code);
  if (int code = library->nvrtcGetNumSupportedArchs(&count); code != nvrtc::kSuccess)
    return nvrtc_error(*library, "nvrtcGetNumSupportedArchs", code);
  std::vector<int> architectures(static_cast<size_t>(std::max(count, 0)));
  if (int code = count > 0 ? library->nvrtcGetSupportedArchs(architectures.data()) : 0; code != nvrtc::kSuccess)
    return nvrtc_error(*library, "nvrtcGetSupportedArchs", code);
  Nvrtc opened(std::move(library));
  opened.major_ = major;
  opened.version_ = fmt::format("{}.{}", major, minor);
  opened.architectures_ = std::move(architectures);
  return opened;
}

Result<CudaProgram> Nvrtc::compile(const std::string& source, const std::string& name, int architecture,
                                   bool for_later_ones) const {
  const nvrtc::Library& library = *library_;
  if (std::find(architectures_.begin(), architectures_.end(), architecture) == architectures_.end())
    return Error{Code::kUnsupported, fmt::format("NVRTC {} does not compile for sm_{}; it does for {}", version_,
                                                 architecture, fmt::join(architectures_, ", "))};
  nvrtc::Program raw = nullptr;
  if (int code = library.nvrtcCreateProgram(&raw, source.c_str(), name.c_str(), 0, nullptr, nullptr);
      code != nvrtc::kSuccess)
    return nvrtc_error(library, "nvrtcCreateProgram", code);
  OwnedProgram program(library, raw);
  const bool whole_hopper = architecture == 90 && !for_later_ones && major_ >= 12;
  int code = program.compile({fmt::format("--gpu-architecture=sm_{}{}", architecture, whole_hopper ? "a" : ""),
                              "--std=c++17", "--ptxas-options=-v"});
  CudaProgram result;
  RIDGE_ASSIGN(result.log, program.take_text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog));
  if (code == nvrtc::kCompilation)
    return Error{Code::kInvalid, fmt::format("{} does not compile for sm_{}:\n{}", name, architecture, result.log)};
  if (code != nvrtc::kSuccess) {
    Error error = nvrtc_error(library, "nvrtcCompileProgram", code);
    return Error{error.code, fmt::format("{} for sm_{}: {}\n{}", name, architecture, error.message, result.log)};
  }
  RIDGE_ASSIGN(result.machine_code, program.take(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN));
  RIDGE_ASSIGN(result.ptx, program.take_text(library.nvrtcGetPTXSize, library.nvrtcGetPTX));
  result.kernels = kernel_uses(result.log);
  return result;
}

}  // namespace ridge::gpu::cuda
