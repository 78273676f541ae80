// A setting that outlives the command: a systemd service that holds it from boot on, by running `ridge power set`, and restores
// the previous state when stopped.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::power {

constexpr const char* kUnitName = "ridge-power.service";
constexpr const char* kUnitFolder = "/etc/systemd/system";

// The file: runs `program` with `arguments`. Source: systemd.service(5), systemd.unit(5), quoting in systemd.syntax(7).
std::string unit_text(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& description);

struct UnitOptions {
  std::string folder = kUnitFolder;
  bool start = true;  // tell systemd: else only the file, e.g. for an image being built
};
// Writes the file, replacing an older one, and starts or restarts the service, now and at every boot. Errors: the folder cannot
// be written (root), no systemd, or the service does not start (with systemctl's message; it is disabled and the file removed
// again).
Status install_unit(const std::string& text, const UnitOptions& options);
// Stops the service, which restores, and removes the file. kNotFound: there is none.
Status remove_unit(const UnitOptions& options);

// In the service: it is ready. Sends READY=1 to the socket named by $NOTIFY_SOCKET (sd_notify(3)); does nothing without one.
// Error: no listener, or the name is too long for a socket.
Status notify_ready();

}  // namespace ridge::power
