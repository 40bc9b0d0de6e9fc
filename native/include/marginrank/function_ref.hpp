// A function that is called and not kept: a pointer to whatever the caller has, without a copy.
//
// Who takes one is compiled once, and not once for each lambda that it is given: the threads of Crew::run and the
// reads of for_each_piece would otherwise be most of what there is to compile. The call itself is by a pointer, so
// loops over rows take their body as a template instead.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace marginrank {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    template <class Function, class = std::enable_if_t<!std::is_same_v<std::decay_t<Function>, FunctionRef>>>
    FunctionRef(Function&& function)  // NOLINT: a lambda is to be handed over as it is
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
          call_([](void* object, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Function>*>(object))(std::forward<Arguments>(arguments)...);
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace marginrank
