// To the service manager that started this process: what it was started for is there.
#pragma once

#include "base/result.h"

namespace ridge::power {

// Sends READY=1 to the socket that $NOTIFY_SOCKET names (sd_notify(3)); done without one. Error: nothing listens
// there, or the name is too long for a socket.
Status tell_ready();

}  // namespace ridge::power
