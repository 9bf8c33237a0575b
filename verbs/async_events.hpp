// What the adapter reports outside of completions: ports, GIDs, fatal errors. Includes Boost.Asio: only for the control
// plane. Threads: the service thread.
#pragma once

#include "core/log.hpp"
#include "verbs/adapter.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace godwit::verbs {

class AsyncEvents {
 public:
  struct Owner {
    /// A queue pair failed; `why` in words. `may_pass`: a fresh one may work.
    virtual void on_pair_failed(Adapter& adapter, std::uint32_t number, const std::string& why, bool may_pass) = 0;
    virtual void on_port_down(Adapter& adapter) = 0;
    /// It may work again: it is up, or its GIDs have changed.
    virtual void on_port_changed(Adapter& adapter) = 0;
    /// Nothing of it works any more.
    virtual void on_adapter_failed(Adapter& adapter, const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  /// Destroy it before the adapter. Throws Error(transport).
  AsyncEvents(boost::asio::io_context& io, Adapter& adapter, core::Log& log, Owner& owner);
  ~AsyncEvents();

  void start() { wait(); }
  /// Reads and handles what has come.
  void take();

 private:
  void wait();
  void handle(const ibv_async_event& event, std::uint32_t pair);

  Adapter& adapter_;
  core::Log& log_;
  Owner& owner_;
  boost::asio::posix::stream_descriptor descriptor_;
  const std::shared_ptr<int> life_ = std::make_shared<int>();  // of handlers that may come later
};

}  // namespace godwit::verbs
