package ostiary.tools_test

import data.ostiary.tools

enabled := {"system/echo": {"enabled": true}, "file/read": {"enabled": false}, "file/list": {}}

request := {
	"user_id": "ada",
	"tool_name": "system/echo",
	"action": "execute",
	"roles": ["tool_user", "auditor"],
	"context": {"tenant_id": "acme"},
}

changed(fields) := object.union(request, fields)

test_tool_user_may_execute if {
	tools.allow with input as request with data.tools as enabled
	count(tools.reasons) == 0 with input as request with data.tools as enabled
}

test_tool_user_may_view if {
	tools.allow with input as changed({"action": "view"}) with data.tools as enabled
}

test_other_action_is_refused if {
	every action in ["delete", "EXECUTE", "", null, ["execute"]] {
		not tools.allow with input as changed({"action": action}) with data.tools as enabled
	}
}

test_disabled_tool_is_refused if {
	not tools.allow with input as changed({"tool_name": "file/read"}) with data.tools as enabled
}

test_tool_without_switch_is_refused if {
	not tools.allow with input as changed({"tool_name": "file/list"}) with data.tools as enabled
}

test_only_true_enables if {
	every switch in ["true", 1, null, {}, [true]] {
		data_of_switch := {"system/echo": {"enabled": switch}}
		not tools.allow with input as request with data.tools as data_of_switch
	}
}

test_unknown_tool_is_refused if {
	not tools.allow with input as changed({"tool_name": "nope/nope"}) with data.tools as enabled
}

test_without_role_is_refused if {
	every roles in [[], ["admin"], "tool_user_2", null, ["TOOL_USER"]] {
		not tools.allow with input as changed({"roles": roles}) with data.tools as enabled
	}
}

test_without_data_everything_is_refused if {
	not tools.allow with input as request with data.tools as {}
}

test_empty_input_is_refused_with_all_reasons if {
	not tools.allow with input as {} with data.tools as enabled
	count(tools.reasons) == 3 with input as {} with data.tools as enabled
}

test_reasons_name_what_is_missing[note] if {
	some note, [fields, reason] in {
		"action": [{"action": "delete"}, "the action is neither view nor execute"],
		"tool": [{"tool_name": "file/read"}, "the tool is not enabled in data.tools"],
		"role": [{"roles": []}, "the caller does not hold the role tool_user"],
	}
	tools.reasons == {reason} with input as changed(fields) with data.tools as enabled
}

test_refused_exactly_when_there_are_reasons if {
	every action in ["view", "execute", "delete"] {
		every tool in ["system/echo", "file/read", "nope/nope"] {
			every roles in [["tool_user"], []] {
				subject := changed({"action": action, "tool_name": tool, "roles": roles})
				allowed := tools.allow with input as subject with data.tools as enabled
				reasons := tools.reasons with input as subject with data.tools as enabled
				without_reasons := count(reasons) == 0
				allowed == without_reasons
			}
		}
	}
}
