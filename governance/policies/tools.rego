# METADATA
# title: Which tools a caller may see and execute
# description: |
#   The starter policy. It refuses everything that no rule allows. `input` holds user_id, tool_name, action
#   (view or execute), roles and context.tenant_id; `data.tools` names the tools that are enabled.
package ostiary.tools

default allow := false

# METADATA
# title: The caller may use the tool
# description: Seeing a tool and executing it need the same, so that what is visible also runs.
# entrypoint: true
allow if {
	action_known
	tool_enabled
	caller_is_tool_user
}

action_known if input.action in {"view", "execute"}

tool_enabled if data.tools[input.tool_name].enabled == true

caller_is_tool_user if "tool_user" in input.roles

# METADATA
# title: Why not
# description: One sentence for each condition that does not hold; empty exactly when the caller may.
reasons contains "the action is neither view nor execute" if not action_known

reasons contains "the tool is not enabled in data.tools" if not tool_enabled

reasons contains "the caller does not hold the role tool_user" if not caller_is_tool_user
