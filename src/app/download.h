// Model files named by URL: downloaded once, kept by content in the cache folder. Prints nothing.
//
// curl transfers in a child process, so that a stalled server or an interruption ends it, and no build depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/run_control.h"
#include "base/result.h"

namespace ridge::app {

bool is_url(std::string_view text);  // of http or https

struct DownloadOptions {
  std::string folder;                            // empty: the cache folder's models/
  int64_t limit_bytes = (int64_t{2} << 30) - 1;  // larger ONNX files do not exist (model/model_file.h)
};

// The path of the file that `url` names, "#sha256=…" checked. A kept file is fetched again only if the server says that
// it has changed, and with a checksum not at all. Errors: no curl, no such file there, too large, another checksum, no
// cache.
Result<std::string> download(const std::string& url, const DownloadOptions& options, const RunControl& control);

}  // namespace ridge::app
