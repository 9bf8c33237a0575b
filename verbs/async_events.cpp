#include "verbs/async_events.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>

namespace godwit::verbs {

using boost::system::error_code;

namespace {

bool is_of_pair(ibv_event_type type) noexcept {
  switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: return true;
    default: return false;
  }
}

}  // namespace

AsyncEvents::AsyncEvents(boost::asio::io_context& io, Adapter& adapter, core::Log& log, Owner& owner)
    : adapter_(adapter), log_(log), owner_(owner), descriptor_(io) {
  const int fd = adapter.context()->async_fd;
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
    throw Error(ErrorCode::transport,
                fmt::format("{}: its events cannot be read: {}", adapter.name(), std::strerror(errno)));
  descriptor_.assign(fd);
}

AsyncEvents::~AsyncEvents() { descriptor_.release(); }  // the context's

void AsyncEvents::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this, life = std::weak_ptr(life_)](const error_code& error) {
                           if (error || life.expired()) return;
                           take();
                           if (!life.expired()) wait();
                         });
}

void AsyncEvents::take() {
  const std::weak_ptr life = life_;
  ibv_async_event event;
  Api& api = adapter_.api();
  ibv_context* const context = adapter_.context();
  while (!life.expired() && api.get_async_event(context, &event) == 0) {
    // Handled after it is acknowledged: destroying the object waits for that.
    const ibv_async_event copy = event;
    const std::uint32_t pair = is_of_pair(event.event_type) ? event.element.qp->qp_num : 0;
    api.ack_async_event(&event);
    handle(copy, pair);
  }
}

void AsyncEvents::handle(const ibv_async_event& event, std::uint32_t pair) {
  const std::string& name = adapter_.name();
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
      return owner_.on_pair_failed(adapter_, pair,
                                   fmt::format("{}: the adapter reports a fatal error of the queue pair", name), true);
    case IBV_EVENT_QP_REQ_ERR:
      return owner_.on_pair_failed(adapter_, pair, fmt::format("{}: a request of the peer was invalid", name), false);
    case IBV_EVENT_QP_ACCESS_ERR:
      return owner_.on_pair_failed(
          adapter_, pair,
          fmt::format("{}: the peer used an address or key that it may not: a window or region freed too early, "
                      "or out of its bounds",
                      name),
          false);
    case IBV_EVENT_CQ_ERR: return owner_.on_adapter_failed(adapter_, name + ": the completion queue overran or failed");
    case IBV_EVENT_SRQ_ERR: return owner_.on_adapter_failed(adapter_, name + ": the shared receive queue failed");
    case IBV_EVENT_DEVICE_FATAL:
      return owner_.on_adapter_failed(adapter_, name + ": the adapter failed or was removed (`dmesg`)");
    case IBV_EVENT_PORT_ERR:
      log_.warn("verbs: {}: the port is down (`godwit ibstat`, cable, switch, `ip link`)", name);
      return owner_.on_port_down(adapter_);
    case IBV_EVENT_PORT_ACTIVE:
      log_.warn("verbs: {}: the port is up again", name);
      return owner_.on_port_changed(adapter_);
    case IBV_EVENT_GID_CHANGE:
      log_.info("verbs: {}: its GID table has changed; connections use the GID that they were made with", name);
      return owner_.on_port_changed(adapter_);
    default: return log_.debug("verbs: {}: {}", name, ibv_event_type_str(event.event_type));
  }
}

}  // namespace godwit::verbs
