"""What kubelet makes of a container's command before a shell sees it: $(NAME) in `command` and `args` is the variable of that
container, $$(NAME) stands for the text $(NAME), and what is no variable of the container stays as it is
(k8s.io/kubernetes/third_party/forked/golang/expansion/expand.go).
"""


def expand(text, variables):
    out, at = "", 0
    while at < len(text):
        if text[at] != "$" or at + 1 == len(text):
            out += text[at]
            at += 1
        elif text[at + 1] == "$":
            out += "$"
            at += 2
        elif text[at + 1] == "(" and (end := text.find(")", at)) != -1:
            name = text[at + 2:end]
            out += variables.get(name, f"$({name})")
            at = end + 1
        else:
            out += text[at:at + 2]
            at += 2
    return out


def environment(container, fields):
    """Its variables: given ones, and those that name a field of the pod, which `fields` has by path."""
    found = {}
    for entry in container.get("env", []):
        value = fields[entry["valueFrom"]["fieldRef"]["fieldPath"]] if "valueFrom" in entry else entry["value"]
        found[entry["name"]] = expand(value, found)
    return found


def command(container, variables):
    return [expand(word, variables) for word in [*container.get("command", []), *container.get("args", [])]]
