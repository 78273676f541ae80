#include "catalogue/compatibility.h"

#include <algorithm>

#include "base/csv.h"
#include "catalogue/data.h"

namespace ridge::catalogue {
namespace {

// One of the embedded tables, by column name. The data's own test finds embedded tables that do not parse.
class MatrixTable {
 public:
  explicit MatrixTable(std::string_view name) {
    Result<Csv> read = parse_csv(data(name), name);
    if (read) csv_ = std::move(*read);
  }
  size_t rows() const { return csv_.rows.size(); }
  const std::string& text(size_t row, std::string_view column) const {
    static const std::string kNothing;
    int at = csv_.column(column);
    return at < 0 ? kNothing : csv_.rows[row][static_cast<size_t>(at)];
  }
  std::optional<Version> version(size_t row, std::string_view column) const { return parse_version(text(row, column)); }

 private:
  Csv csv_;
};

CudaRow cuda_row_at(const MatrixTable& table, size_t row) {
  CudaRow result;
  result.cuda = table.version(row, "cuda_version").value_or(Version{});
  result.driver = table.version(row, "min_linux_driver");
  result.driver_minor = table.version(row, "min_driver_minor_compat");
  result.least_capability = table.version(row, "min_cc");
  result.most_capability = table.version(row, "max_cc_native");
  return result;
}

std::optional<LibraryRow> library_row(std::string_view name, std::string_view column, const Version& version,
                                      const std::optional<Version>& cuda) {
  MatrixTable table(name);
  std::optional<LibraryRow> best;
  bool best_fits = false;
  for (size_t row = 0; row < table.rows(); ++row) {
    std::optional<Version> listed = table.version(row, column);
    if (!listed || listed->part(0) != version.part(0)) continue;
    Version listed_so_far =
        *listed;  // a file's name has fewer numbers than the table: libnvinfer.so.10.14.1 is 10.14.1.48
    listed_so_far.parts.resize(std::min(listed->parts.size(), version.parts.size()));
    if (listed_so_far > version) continue;
    LibraryRow candidate{*listed, table.text(row, "cuda_versions"), table.version(row, "min_linux_driver"),
                         table.version(row, "cc_min"), table.version(row, "cc_max")};
    bool candidate_fits = cuda && fits(*cuda, candidate.cuda);
    bool newer = !best || candidate.version > best->version;
    bool same = best && candidate.version == best->version;
    // Newest release first; among the rows of one release the one for this CUDA.
    if (!(newer || (same && candidate_fits && !best_fits))) continue;
    best = std::move(candidate);
    best_fits = candidate_fits;
  }
  return best;
}

}  // namespace

std::optional<CudaRow> cuda_row(const Version& cuda) {
  MatrixTable table("cuda_compat");
  std::optional<CudaRow> found;
  for (size_t row = 0; row < table.rows(); ++row) {
    CudaRow candidate = cuda_row_at(table, row);
    if (candidate.cuda == cuda) return candidate;
    bool same_minor = candidate.cuda.part(0) == cuda.part(0) && candidate.cuda.part(1) == cuda.part(1);
    if (same_minor && (!found || candidate.cuda < found->cuda)) found = std::move(candidate);
  }
  return found;
}

std::optional<CudaRow> newest_cuda_for(const Version& driver) {
  MatrixTable table("cuda_compat");
  std::optional<CudaRow> found;
  for (size_t row = 0; row < table.rows(); ++row) {
    CudaRow candidate = cuda_row_at(table, row);
    bool runs = candidate.driver && driver >= *candidate.driver;
    if (runs && (!found || candidate.cuda > found->cuda)) found = std::move(candidate);
  }
  return found;
}

DriverFit driver_fit(const Version& driver, const CudaRow& row) {
  if (row.driver && driver >= *row.driver) return DriverFit::kFull;
  if (row.driver_minor && driver >= *row.driver_minor) return DriverFit::kMinor;
  return DriverFit::kNone;
}

std::optional<LibraryRow> cudnn_row(const Version& version, const std::optional<Version>& cuda) {
  return library_row("cudnn_compat", "cudnn_version", version, cuda);
}

std::optional<LibraryRow> tensorrt_row(const Version& version, const std::optional<Version>& cuda) {
  return library_row("tensorrt_compat", "tensorrt_version", version, cuda);
}

std::optional<LibraryRow> nccl_row(const Version& version, int cuda_major) {
  MatrixTable table("nccl_compat");
  std::optional<LibraryRow> best;
  for (size_t row = 0; row < table.rows(); ++row) {
    std::optional<Version> listed = table.version(row, "nccl_version");
    if (!listed || *listed > version || (best && *listed <= best->version)) continue;
    best = LibraryRow{*listed, std::to_string(cuda_major), {}, {}, {}};
    best->least_capability = table.version(row, cuda_major >= 13 ? "min_cc_cuda13_build" : "min_cc_cuda12_build");
  }
  std::optional<Version> first = parse_version(std::to_string(cuda_major) + ".0");
  std::optional<CudaRow> cuda = first ? cuda_row(*first) : std::nullopt;
  if (best && cuda) best->driver = cuda->driver_minor ? cuda->driver_minor : cuda->driver;
  return best;
}

std::optional<OnnxRuntimeRow> onnxruntime_row(const Version& version) {
  MatrixTable table("onnxruntime_compat");
  std::optional<OnnxRuntimeRow> best;
  Version best_version;
  for (size_t row = 0; row < table.rows(); ++row) {
    // "1.20.x" stands for all patches of it, "1.18.1" for itself and later ones.
    std::optional<Version> listed = table.version(row, "onnxruntime_gpu_version");
    std::optional<Version> cuda = table.version(row, "default_cuda"), cudnn = table.version(row, "cudnn");
    if (!listed || !cuda || !cudnn || *listed > version || (best && *listed <= best_version)) continue;
    best_version = *listed;
    best = OnnxRuntimeRow{table.text(row, "onnxruntime_gpu_version"),
                          *cuda,
                          table.text(row, "default_cuda"),
                          cudnn->part(0),
                          table.text(row, "cudnn"),
                          table.version(row, "tensorrt"),
                          table.text(row, "also_built_for"),
                          listed->part(0) == version.part(0) && listed->part(1) == version.part(1)};
  }
  return best;
}

}  // namespace ridge::catalogue
