#include "app/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/cache_folder.h"
#include "base/child_process.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/letter_case.h"
#include "base/replacement_file.h"
#include "base/temporary_folder.h"
#include "base/units.h"

namespace ridge::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kChecksum = "#sha256=";
constexpr std::chrono::hours kLongestDownload{6};  // curl itself ends one that stalls
constexpr std::chrono::minutes kLongestDigest{5};

struct Source {
  std::string url;     // without the checksum
  std::string sha256;  // lower case; empty: not given
  std::string name;    // of the file
};

Result<Source> parse_source(const std::string& text) {
  Source source{text, "", ""};
  if (const size_t at = text.find('#'); at != std::string::npos) {
    source.url = text.substr(0, at);
    source.sha256 = lower_case(text.substr(at).substr(std::min(kChecksum.size(), text.size() - at)));
    const bool hex =
        source.sha256.size() == 64 && source.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!text.substr(at).starts_with(kChecksum) || !hex)
      return invalid(text + ": after # a checksum is expected: #sha256= and 64 hexadecimal digits");
  }
  const std::string path = source.url.substr(0, source.url.find('?'));
  source.name = path.substr(path.rfind('/') + 1);
  if (source.name.empty() || path.find("://") + 2 == path.rfind('/')) return invalid(text + " names no file");
  return source;
}

// The last length that the headers tell, of the file behind all redirections; 0: none yet.
double length_in(const std::string& headers_file) {
  const Result<std::string> headers = read_file(headers_file);
  if (!headers) return 0;
  constexpr std::string_view kName = "content-length:";
  const std::string text = lower_case(*headers);
  const size_t at = text.rfind(kName);
  if (at == std::string::npos) return 0;
  const size_t begin = text.find_first_not_of(' ', at + kName.size());
  int64_t length = 0;
  if (begin != std::string::npos) std::from_chars(text.data() + begin, text.data() + text.size(), length);
  return static_cast<double>(length);
}

Result<std::string> sha256_of(const std::string& file) {
  RIDGE_ASSIGN(const std::string output, output_of_program({.arguments = {"sha256sum", "--", file}}, {kLongestDigest}));
  return output.substr(output.starts_with('\\') ? 1 : 0, 64);
}

// Leaves the file in `folder`, or none if the server says that `kept` has not changed.
Status transfer(const Source& source, const std::string& folder, const std::string& kept,
                const DownloadOptions& options, const RunControl& control) {
  const std::string file = folder + "/file", headers = folder + "/headers";
  ChildProgram curl;
  curl.take_errors = true;
  curl.arguments = {"curl",
                    "--silent",
                    "--show-error",
                    "--fail",
                    "--location",
                    "--remote-time",
                    "--proto",
                    "=http,https",
                    "--proto-redir",
                    "=http,https",
                    "--connect-timeout",
                    "20",
                    "--speed-limit",
                    "1",
                    "--speed-time",
                    "60",
                    "--max-filesize",
                    std::to_string(options.limit_bytes),
                    "--dump-header",
                    headers,
                    "--output",
                    file,
                    "--url",
                    source.url};
  if (!kept.empty()) curl.arguments.insert(curl.arguments.end(), {"--time-cond", kept});
  bool too_large = false;
  ChildLimits limits{kLongestDownload};
  limits.interrupted = [&] {
    std::error_code none_yet;
    const auto size = static_cast<double>(fs::file_size(file, none_yet));
    if (none_yet) return control.stopped();
    const double length = length_in(headers);
    control.report(format_bytes(size) + (length > 0 ? " of " + format_bytes(length) : ""),
                   length > 0 ? size / length : 0);
    too_large = size > static_cast<double>(options.limit_bytes);
    return too_large || control.stopped();
  };
  Result<ChildRun> run = run_program(curl, limits);
  constexpr int kTooLarge = 63;  // curl's exit status: the size is above --max-filesize
  if (too_large || (run && run->end == ChildEnd::kExited && run->exit_status == kTooLarge))
    return Error{Code::kExhausted, "it has more than " + format_bytes(static_cast<double>(options.limit_bytes)) +
                                       ", the most that is downloaded"};
  if (!run && run.error().code == Code::kNotFound)
    return Error{Code::kNotFound, "curl is not on PATH; install it, or download the file yourself"};
  RIDGE_TRY(output_of("'curl'", limits, std::move(run)));
  return {};
}

Status check_sum(const Source& source, const std::string& sum) {
  if (source.sha256.empty() || source.sha256 == sum) return {};
  return invalid("its SHA-256 is " + sum + ", not " + source.sha256 + " as asked for");
}

}  // namespace

bool is_url(std::string_view text) { return text.starts_with("http://") || text.starts_with("https://"); }

Result<std::string> download(const std::string& url, const DownloadOptions& options, const RunControl& control) {
  RIDGE_ASSIGN(const Source source, parse_source(url));
  const std::string doing = "download " + source.url;
  const std::string folder = options.folder.empty() ? cache_folder("models") : options.folder;
  if (folder.empty())
    return Error{Code::kUnavailable,
                 doing + ": neither XDG_CACHE_HOME nor HOME is set, so there is nowhere to keep it"};
  auto path_of = [&](const std::string& sum) { return folder + "/" + sum.substr(0, 16) + "/" + source.name; };
  std::error_code error;
  if (!source.sha256.empty() && fs::exists(path_of(source.sha256), error)) return path_of(source.sha256);
  // Stores beside each URL the path of its last file.
  const std::string last_file = folder + "/urls/" + digest_text(source.url);
  const Result<std::string> last = read_file(last_file);
  const std::string kept = last && fs::exists(*last, error) ? *last : "";

  Result<TemporaryFolder> temporary = TemporaryFolder::make();
  if (!temporary) return wrap(std::move(temporary).error(), doing);
  if (Status got = transfer(source, temporary->path(), kept, options, control); !got)
    return wrap(std::move(got).error(), doing);
  const std::string file = temporary->path() + "/file";
  const bool unchanged = !kept.empty() && !fs::exists(file, error);
  Result<std::string> sum = sha256_of(unchanged ? kept : file);
  if (!sum) return wrap(std::move(sum).error(), doing);
  if (Status same = check_sum(source, *sum); !same) return wrap(std::move(same).error(), doing);
  if (unchanged) return kept;
  const std::string path = path_of(*sum);
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string part = temporary_name(path + ".part");  // another process may download the same
  fs::copy_file(file, part, fs::copy_options::overwrite_existing, error);
  if (!error) fs::last_write_time(part, fs::last_write_time(file), error);
  if (!error) fs::rename(part, path, error);
  if (error) return Error{Code::kFailed, doing + ": keep it as " + path + ": " + error.message()};
  if (Status written = write_file_atomically(last_file, path); !written) return wrap(std::move(written).error(), doing);
  return path;
}

}  // namespace ridge::app
